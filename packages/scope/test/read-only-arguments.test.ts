import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ReadOnlyError } from '@tenon/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { MemoryLayout, MemorySegment, NativeScope } from '../src/index.ts'
import { Linker, SymbolLookup } from '../src/linker.ts'

const libc = SymbolLookup.ofProcess()
const memset = Linker.downcall(libc.get('memset'), { result: 'pointer', parameters: ['pointer', 'int32', 'uint64'] })
const strlen = Linker.downcall(libc.get('strlen'), { result: 'uint64', parameters: ['text'] })

let directory: string
let scope: NativeScope
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-read-only-'))
  scope = NativeScope.ofConfined()
})
afterAll(() => {
  scope.close()
  rmSync(directory, { recursive: true })
})

describe('read-only memory', () => {
  test('is read by C as other memory, and what C writes to it is there', async () => {
    const segment = scope.allocate(16)
    const readOnly = segment.asReadOnly()
    expect(strlen(readOnly)).toBe(0n)
    memset(readOnly, 65, 8)
    expect(strlen(readOnly)).toBe(8n)
    await memset.async(readOnly, 66, 4)
    expect(Buffer.from(segment.toArray(MemoryLayout.uint8)).toString()).toBe('BBBBAAAA\0\0\0\0\0\0\0\0')
    expect(() => readOnly.fill(0)).toThrow(ReadOnlyError)
  })

  test('that is a part of other memory is passed with its own address', () => {
    const segment = scope.allocate(16)
    memset(segment.asReadOnly().asSlice(8, 4), 1, 4)
    expect([...segment.toArray(MemoryLayout.uint8)]).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0])
  })

  test('of a file that is mapped to be read never changes the file', () => {
    const path = join(directory, 'file')
    writeFileSync(path, 'unchanged')
    const mapped = MemorySegment.mapFile(path, scope)
    memset(mapped, 65, 4)
    expect(mapped.getUint8(0)).toBe(65)
    expect(readFileSync(path, 'utf8')).toBe('unchanged')
  })

  test('is not the memory for a struct that a function returns, and is unchanged', () => {
    const quotient = MemoryLayout.struct({ quot: MemoryLayout.int32, rem: MemoryLayout.int32 })
    const div = Linker.downcall(libc.get('div'), { result: quotient, parameters: ['int32', 'int32'] })
    const target = scope.allocate(8)
    const allocator = { allocate: () => target.asReadOnly() }
    expect(() => div(allocator as never, 17, 5)).toThrow(ReadOnlyError)
    expect([...target.toArray(MemoryLayout.int32)]).toEqual([0, 0])
  })
})
