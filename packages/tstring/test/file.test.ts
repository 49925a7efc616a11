import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { ArgumentError, LoadError, ScopeClosedError } from '@tenon/core'
import { MalformedTensorError, StringTensor } from '../src/index.ts'
import { bytesOf, everyAbi, everyLayout, memory } from './helpers.ts'

const directory = mkdtempSync(join(tmpdir(), 'tstring-'))
afterAll(() => rmSync(directory, { recursive: true }))
const path = (name: string): string => join(directory, name)

const words = ['zero', 'one', 'a string that is longer than a struct', 'žluťoučký kůň', '', '\ufeff\0']

describe('files', () => {
  it('are described by a file with layout, ABI and shape', () => {
    for (const layout of everyLayout) {
      for (const abi of everyAbi) {
        const file = path(`${layout}-${abi}`)
        const tensor = StringTensor.from(words, { layout, abi, shape: [2, 3], storage: 'packed' })
        tensor.export(file)
        expect(Uint8Array.from(readFileSync(file))).toEqual(bytesOf(tensor.segment))
        for (const mode of ['map', 'read'] as const) {
          using mapped = StringTensor.open(file, { mode })
          expect([mapped.layout, mapped.abi, mapped.shape, mapped.toArray()]).toEqual([layout, abi, [2, 3], words])
          expect(mapped.to('tf').toArray()).toEqual(words)
          expect(mapped.slice(1).toArray()).toEqual(words.slice(3))
        }
      }
    }
  })

  it('are packed for every storage', () => {
    using malloc = StringTensor.from(words, { storage: 'malloc' })
    const changed = StringTensor.from(words, { storage: 'packed' })
    changed.set(0, 'longer than it was, and so in an arena')
    const tensors = [StringTensor.from(words), malloc, changed, StringTensor.from(words).slice(2), changed.slice(0, 3)]
    tensors.forEach((tensor, i) => {
      tensor.export(path(`any${i}`))
      using mapped = StringTensor.open(path(`any${i}`))
      expect(mapped.toArray()).toEqual(tensor.toArray())
    })
  })

  it('have the bytes of a tensor that was sliced but not set', () => {
    const tensor = StringTensor.from(words, { storage: 'packed', inline: false })
    tensor.slice(1)
    tensor.export(path('sliced'))
    expect(Uint8Array.from(readFileSync(path('sliced')))).toEqual(bytesOf(tensor.segment))
  })

  it('contain neither pointers nor gaps of bytes that were not checked strictly', () => {
    using malloc = StringTensor.from(words, { storage: 'malloc' })
    const trusted = StringTensor.ofSegment(malloc.segment, { layout: 'tf', shape: [6], validate: 'trusted' })
    const lite = bytesOf(StringTensor.from(words, { layout: 'tflite' }).segment)
    const lenient = StringTensor.ofSegment(memory(Buffer.concat([lite, Buffer.alloc(8)])), {
      layout: 'tflite',
      validate: 'lenient',
    })
    for (const tensor of [trusted, lenient]) {
      tensor.export(path('loose'))
      using mapped = StringTensor.open(path('loose'))
      expect(mapped.toArray()).toEqual(words)
    }
  })

  it('have pointers that are never followed, even if they are trusted', () => {
    using malloc = StringTensor.from(words, { storage: 'malloc' })
    writeFileSync(path('pointers'), bytesOf(malloc.segment))
    for (const mode of ['map', 'read'] as const) {
      using mapped = StringTensor.open(path('pointers'), { layout: 'tf', shape: [6], validate: 'trusted', mode })
      expect(mapped.get(0)).toBe('zero')
      expect(() => mapped.get(2)).toThrow(/struct-type/)
      expect(() => mapped.toArray()).toThrow(MalformedTensorError)
      expect(() => mapped.hashes()).toThrow(MalformedTensorError)
    }
  })

  it('can be open descriptors, which get no description', () => {
    const descriptor = openSync(path('descriptor'), 'w')
    StringTensor.from(words, { layout: 'tflite' }).export(descriptor)
    closeSync(descriptor)
    using mapped = StringTensor.open(path('descriptor'), { layout: 'tflite' })
    expect(mapped.toArray()).toEqual(words)
    expect(() => StringTensor.open(path('descriptor'))).toThrow(/layout must be given.*descriptor\.json/)
  })

  it('may be empty', () => {
    for (const layout of everyLayout) {
      StringTensor.from([], { layout, shape: [0, 2] }).export(path('empty'))
      using mapped = StringTensor.open(path('empty'))
      expect([mapped.shape, mapped.toArray()]).toEqual([[0, 2], []])
    }
  })

  it('are checked in a copy that others cannot change', () => {
    const file = path('hostile')
    StringTensor.from(words, { storage: 'packed' }).export(file)
    const bytes = readFileSync(file)
    using mapped = StringTensor.open(file)
    const hostile = Buffer.from(bytes)
    hostile.fill(0xfe, 0, 24 * words.length)
    const descriptor = openSync(file, 'r+')
    writeFileSync(descriptor, hostile)
    closeSync(descriptor)
    expect(mapped.toArray()).toEqual(words)
    expect(() => StringTensor.open(file)).toThrow(MalformedTensorError)
    expect(() => StringTensor.open(file)).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ path: file }) }),
    )
    expect(() => StringTensor.open(file, { layout: 'tf', shape: [1000] })).toThrow(/table-size/)
    expect(() => StringTensor.open(file, { layout: 'tf' })).toThrow(/shape must be an array of numbers/)
  })

  if (process.platform === 'linux')
    it('read as zeros after they were cut while mapped', () => {
      const file = path('cut')
      StringTensor.from(
        Array.from({ length: 1000 }, (_, i) => `a string of the file, number ${i}`),
        { layout: 'tflite' },
      ).export(file)
      using mapped = StringTensor.open(file)
      truncateSync(file, 0)
      expect(mapped.get(999)).toBe('\0'.repeat('a string of the file, number 999'.length))
      expect(mapped.to('tf').get(999)).toBe('\0'.repeat('a string of the file, number 999'.length))
    })

  it('are unmapped when their tensor is closed', () => {
    StringTensor.from(words, { layout: 'tflite' }).export(path('closed'))
    const tensor = StringTensor.open(path('closed'))
    const view = tensor.bytes(0)
    const part = tensor.slice(2)
    tensor.close()
    expect(() => tensor.close()).toThrow(ScopeClosedError)
    tensor[Symbol.dispose]()
    expect(() => tensor.get(0)).toThrow(ScopeClosedError)
    expect(part.get(0)).toBe(words[2])
    if (process.platform === 'linux') expect(view.length).toBe(0)
  })

  it('may be overwritten by a tensor that is mapped from them', () => {
    StringTensor.from(words, { storage: 'packed' }).export(path('itself'))
    const before = readFileSync(path('itself'))
    using mapped = StringTensor.open(path('itself'))
    mapped.export(path('itself'))
    expect([readFileSync(path('itself')), mapped.toArray()]).toEqual([before, words])
    StringTensor.from(['a']).export(path('itself'))
    using shorter = StringTensor.open(path('itself'))
    expect(shorter.toArray()).toEqual(['a'])
  })

  it('must be files, and are not waited for', () => {
    expect(() => StringTensor.open(directory, { layout: 'tflite' })).toThrow(LoadError)
    if (process.platform === 'win32') return
    execFileSync('mkfifo', [path('pipe')])
    for (const mode of ['map', 'read'] as const) {
      expect(() => StringTensor.open(path('pipe'), { layout: 'tflite', mode })).toThrow(
        /must be the path of a file.*\n.*Buffer/,
      )
      expect(() => StringTensor.open('/dev/zero', { layout: 'tflite', mode })).toThrow(LoadError)
    }
  })

  it('report a missing file and a missing or wrong description', () => {
    expect(() => StringTensor.open(path('nowhere'), { layout: 'tflite' })).toThrow(/ENOENT/)
    expect(() => StringTensor.open('absent.bin')).toThrow(LoadError)
    expect(() => StringTensor.open('absent.bin')).toThrow(
      /^path must be a file that can be read, got absent\.bin: ENOENT.*\nHint: Pass the path of a file that exists/,
    )
    expect(() => StringTensor.open(new URL('file:///x') as never)).toThrow(
      /path must be a string.*got an object of class URL/,
    )
    writeFileSync(path('plain'), 'abc')
    writeFileSync(path('plain.json'), '{"format":"something"}')
    expect(() => StringTensor.open(path('plain'))).toThrow(ArgumentError)
    writeFileSync(path('plain.json'), '{')
    expect(() => StringTensor.open(path('plain'))).toThrow(/as JSON/)
    writeFileSync(
      path('plain.json'),
      '{"format":"tenon-string-tensor","version":1,"layout":"x","abi":"le64","shape":[]}',
    )
    expect(() => StringTensor.open(path('plain'))).toThrow(/must have a layout/)
    expect(() => StringTensor.open('', {})).toThrow(ArgumentError)
    expect(() => StringTensor.open(path('plain'), { mode: 'mmap' as never })).toThrow(/mode must be/)
  })
})
