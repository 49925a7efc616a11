import { readFileSync } from 'node:fs'
import { crc32, deflateRawSync } from 'node:zlib'
import { ArgumentError, gcAllocator, LoadError, ReadOnlyError, ScopeClosedError, tensor } from '@tenon/core'
import { ResourceScope } from '@tenon/scope'
import { describe, expect, test } from 'vitest'
import { encodeNpy, readNpz, WeightsFormatError } from '../src/index.ts'
import { fixture, temporaryFiles, values } from './support.ts'
import { thrownBy } from './thrown-by.ts'
import { zipBytes, type ZipPart } from './zip-bytes.ts'

const write = temporaryFiles()
const array = encodeNpy(tensor([1, 2, 3, 4]))
const one: ZipPart = { name: 'x.npy', bytes: array }

describe('readNpz()', () => {
  test.each(['stored.npz', 'deflated.npz'])('reads the arrays of NumPy in %s', (name) => {
    for (const file of [readNpz(fixture(name)), readNpz(readFileSync(fixture(name)))]) {
      expect(file.names).toEqual(['x', 'fortran', 'big_endian', 'scalar', 'empty', 'wide'])
      expect(file.tensor('x').toArray()).toEqual(values(6))
      expect(file.tensor('fortran').toNested()).toEqual([values(6).slice(0, 3), values(6).slice(3)])
      expect(file.tensor('fortran').strides).toEqual([1, 2])
      expect(file.tensor('big_endian').toArray()).toEqual(values(6))
      expect(file.tensor('scalar').item()).toBe(4)
      expect(file.tensor('empty').shape).toEqual([0, 5])
      expect(file.tensor('wide').type.byteSize).toBe(1024)
      expect(file.entry('big_endian')).toMatchObject({ type: '>i4', dtype: 'int32', shape: [2, 3], byteSize: 24 })
      expect(file.entry('x')).toMatchObject({ name: 'x', type: '<f4', dtype: 'float32', shape: [2, 3], byteSize: 24 })
      expect(String(file)).toMatch(/^WeightsFile \.npz \(6 tensors/)
    }
  })

  test('maps an array that is stored and aligned, and copies others', () => {
    const padding = (size: number): Buffer => Buffer.concat([Buffer.from([0xff, 0xff, size, 0]), Buffer.alloc(size)])
    // 30 bytes of header and 5 of the name: 25 more align the array to 64.
    const parts = [
      { ...one, extra: padding(25) },
      { name: 'y.npy', bytes: array, extra: padding(0) },
    ]
    const scope = ResourceScope.ofConfined()
    const file = readNpz(write('aligned.npz', zipBytes(parts)), scope)
    const [x, y] = [file.tensor('x'), file.tensor('y')]
    expect(x.address).toBe(file.tensor('x').address)
    expect(() => x.set([1, 2, 3, 4] as never)).toThrow(ReadOnlyError)
    expect(y.address).not.toBe(file.tensor('y').address)
    expect(file.tensor('x', { allocator: gcAllocator }).address).not.toBe(x.address)
    expect([x.toArray(), y.toArray()]).toEqual([
      [1, 2, 3, 4],
      [1, 2, 3, 4],
    ])
    scope.close()
    expect(() => x.toArray()).toThrow(ScopeClosedError)
    expect(() => file.tensor('y')).toThrow(ScopeClosedError)
    expect(() => file.entry('y')).toThrow(ScopeClosedError)
    expect(y.toArray()).toEqual([1, 2, 3, 4])
  })

  test('reads zip64, comments, and members that are no arrays', () => {
    const parts = [
      { ...one, zip64: true },
      { name: 'readme.txt', bytes: Buffer.from('hello') },
    ]
    const file = readNpz(zipBytes(parts, { zip64: true, comment: 'PK\u0005\u0006 comment' }))
    expect(file.names).toEqual(['x'])
    expect(file.tensor('x').toArray()).toEqual([1, 2, 3, 4])
    expect(readNpz(zipBytes([])).names).toEqual([])
  })

  test('refuses members above the limit', () => {
    const bytes = zipBytes([{ ...one, isDeflated: true }])
    expect(readNpz(bytes, undefined, { limit: array.length }).tensor('x').toArray()).toEqual([1, 2, 3, 4])
    const error = thrownBy(() => readNpz(bytes, undefined, { limit: array.length - 1 }).tensor('x'))
    expect(error).toBeInstanceOf(WeightsFormatError)
    expect(error.hint).toContain('limit')
  })

  test('explains wrong arguments', () => {
    expect(() => readNpz('missing.npz')).toThrow(LoadError)
    expect(() => readNpz(5 as unknown as string)).toThrow(ArgumentError)
    expect(() => readNpz(array, undefined, { limit: -1 })).toThrow(ArgumentError)
    expect(() => readNpz(array, undefined, { most: 1 } as object)).toThrow('most')
    const bytes = new Uint8Array(zipBytes([one]))
    structuredClone(bytes, { transfer: [bytes.buffer] })
    expect(() => readNpz(bytes)).toThrow(ArgumentError)
  })
})

const changed = (parts: readonly ZipPart[], place: string, at: number, ...bytes: number[]): Buffer => {
  const archive = zipBytes(parts)
  const start = archive.indexOf(place)
  archive.set(bytes, start + at)
  return archive
}
const [LOCAL, ENTRY, END] = ['PK\u0003\u0004', 'PK\u0001\u0002', 'PK\u0005\u0006'] as const

describe('a damaged .npz archive', () => {
  test.each<[string, Buffer, RegExp]>([
    ['an empty file', Buffer.alloc(0), /end with the record/],
    ['text', Buffer.from('PK is not enough'), /end with the record/],
    ['an archive that is cut off', zipBytes([one]).subarray(0, -1), /end with the record/],
    ['bytes behind the archive', Buffer.concat([zipBytes([one]), Buffer.alloc(1)]), /end with the record/],
    ['bytes before the archive', Buffer.concat([Buffer.alloc(1), zipBytes([one])]), /directory should end at byte/],
    ['a directory behind the end', changed([one], END, 16, 0xff, 0xff, 0xff, 0x7f), /directory should end at byte/],
    ['more members than the directory has', changed([one], END, 8, 9, 0, 9, 0), /not possible/],
    ['fewer members than the directory has', changed([one], END, 8, 0, 0, 0, 0), /the directory should end here/],
    ['several disks', changed([one], END, 4, 1), /in one file/],
    ['zip64 without its record', changed([one], END, 10, 0xff, 0xff), /record of zip64/],
    ['no member where one should be', changed([one], ENTRY, 0, 0), /member here/],
    ['a name behind the directory', changed([one], ENTRY, 28, 0xff, 0xff), /ends within a member/],
    ['an encrypted member', changed([one], ENTRY, 8, 1), /encrypted/],
    ['an unknown method', changed([one], ENTRY, 10, 14), /stored or deflated, but has the method 14/],
    ['a stored member of two sizes', changed([one], ENTRY, 24, 1), /cannot have/],
    [
      'a member that is a bomb',
      changed([{ ...one, isDeflated: true }], ENTRY, 24, 0, 0, 0, 0x7f),
      /cannot have 2130706432 bytes/,
    ],
    ['a member without its zip64 field', changed([one], ENTRY, 20, 0xff, 0xff, 0xff, 0xff), /field of zip64/],
    ['a member behind the directory', changed([one], ENTRY, 42, 0xff, 0xff, 0xff, 0x7f), /begin before the directory/],
    ['a member with another name in its header', changed([one], LOCAL, 30, 0x79), /agrees with the directory/],
    ['a member with another method in its header', changed([one], LOCAL, 8, 8), /agrees with the directory/],
    ['a member without a header', changed([one], LOCAL, 0, 0), /agrees with the directory/],
    ['a member that ends behind the directory', changed([one], LOCAL, 28, 0xff), /end before the directory/],
    ['two equal names', zipBytes([one, one]), /two members have the name "x.npy"/],
    [
      'a name that is neither ASCII nor UTF-8',
      zipBytes([{ name: 'é.npy', bytes: array, flags: 0 }]),
      /neither ASCII nor UTF-8/,
    ],
  ])('%s is refused', (_, bytes, reason) => {
    for (const source of [bytes, write('damaged.npz', bytes)]) {
      const error = thrownBy(() => readNpz(source))
      expect(error).toBeInstanceOf(WeightsFormatError)
      expect(error.sentence).toMatch(reason)
      expect(typeof error.details['byteOffset']).toBe('number')
    }
  })

  test('members that share their bytes are refused', () => {
    // The data of the first member are a second one, with its header.
    const inner = zipBytes([one])
    const two = zipBytes([{ name: 'outer', bytes: inner.subarray(0, inner.indexOf(ENTRY)) }, one])
    two.writeUInt32LE(two.indexOf(LOCAL, 1), two.lastIndexOf(ENTRY) + 42)
    expect(() => readNpz(two)).toThrow('the member "x.npy" overlaps another one')
  })

  test.each<[string, ZipPart, RegExp]>([
    ['a wrong checksum', { ...one, crc: 1 }, /checksum/],
    ['data that is not deflate', { ...one, isDeflated: true, data: Buffer.alloc(40, 0xff) }, /not valid deflate/],
    ['more bytes than the directory says', { ...one, isDeflated: true, byteSize: 100 }, /more bytes/],
    ['fewer bytes than the directory says', { ...one, isDeflated: true, byteSize: 200 }, /has 144 bytes, not 200/],
    [
      'an array that is cut off',
      { name: 'x.npy', bytes: array.subarray(0, -4) },
      /"x.npy" is not a readable array.*should end/,
    ],
    ['a member that is no array', { name: 'x.npy', bytes: Buffer.from('hello') }, /not a readable array/],
    ['an empty member', { name: 'x.npy', bytes: Buffer.alloc(0) }, /not a readable array/],
    ['an empty deflated member', { name: 'x.npy', bytes: Buffer.alloc(0), isDeflated: true }, /not a readable array/],
  ])('%s is refused when the array is asked for', (_, part, reason) => {
    const file = readNpz(zipBytes([part]))
    const error = thrownBy(() => file.tensor('x'))
    expect(error).toBeInstanceOf(WeightsFormatError)
    expect(error.sentence).toMatch(reason)
  })

  test('a header that is larger than what is decompressed at first is read', () => {
    const name = 'x.npy'
    const header = Buffer.from(array)
    const noise = Buffer.alloc(60_000)
    for (let i = 0; i < noise.length; i++) noise[i] = 32 + ((i * i * 31) % 7 === 0 ? 0 : 0)
    const bytes = Buffer.concat([
      header.subarray(0, 8),
      Buffer.from([0x60, 0xea]),
      header.subarray(10, 127),
      noise.subarray(0, 60_000 - 117),
      header.subarray(128),
    ])
    const part = { name, bytes, isDeflated: true, data: deflateRawSync(bytes, { level: 0 }), crc: crc32(bytes) }
    const file = readNpz(zipBytes([part]))
    expect(file.entry('x').shape).toEqual([4])
    expect(file.tensor('x').toArray()).toEqual([1, 2, 3, 4])
  })
})
