import { describe, expect, it } from 'vitest'
import { ArgumentError } from '@tenon/core'
import { currentStream, device, type OpaquePointer, type PackedFuncError, withStream } from '../src/index.ts'
import { isOwnLibrary, kernel, thrownBy } from './support.ts'

const gpu = device('cuda:1')
const pointer = kernel('some_pointer')(1) as OpaquePointer
const address = (): bigint => currentStream(gpu).address

describe('the stream of a device', () => {
  it('is the default stream at first', () => {
    expect(address()).toBe(0n)
    expect(currentStream({ type: 2, id: 0 } as never).address).toBe(0n)
  })

  it('is replaced while a function runs, for its device, and restored when it returns', () => {
    const result = withStream(gpu, pointer, () => {
      expect(address()).toBe(pointer.address)
      expect(currentStream(device('cuda:0')).address).toBe(0n)
      expect(withStream(gpu, null, address)).toBe(0n)
      return address()
    })
    expect([result, address()]).toEqual([pointer.address, 0n])
  })

  it('is an address, or an object with a handle, as a stream of another library', () => {
    expect(withStream(gpu, 5n, address)).toBe(5n)
    expect(withStream(gpu, { handle: 7n }, address)).toBe(7n)
    expect(withStream(gpu, 0xffff_ffff_ffff_fff1n, address)).toBe(0xffff_ffff_ffff_fff1n)
    let reads = 0
    const hostile = {
      get handle() {
        return [3n, 'changed'][reads++] as bigint
      },
    }
    expect(withStream(gpu, hostile, address)).toBe(3n)
    expect([reads, address()]).toEqual([1, 0n])
  })

  it('is restored when the function throws', () => {
    const thrown = new Error('mine')
    const error = thrownBy(() =>
      withStream(gpu, pointer, () => {
        throw thrown
      }),
    )
    expect([error, address()]).toEqual([thrown, 0n])
  })

  it('is restored, and a promise is a TypeError', () => {
    const error = thrownBy(() =>
      withStream(gpu, pointer, async () => Promise.reject(new Error('later'))),
    ) as PackedFuncError
    expect(error).toBeInstanceOf(TypeError)
    expect([error.kind, error.sentence]).toEqual([
      'TypeError',
      'run must be a synchronous function, got one that returns a promise',
    ])
    expect(address()).toBe(0n)
  })

  it('keeps all 64 bits, and reads each part of a device once', () => {
    const reads: string[] = []
    const hostile = {
      get type() {
        reads.push('type')
        return 2
      },
      get id() {
        reads.push('id')
        return 5
      },
    }
    expect(currentStream(hostile as never).address).toBe(0n)
    expect(reads).toEqual(['type', 'id'])
    const large = Object.assign(Object.create(pointer.constructor.prototype) as OpaquePointer, {
      address: 0xffff_ffff_ffff_fff1n,
    })
    expect(withStream(gpu, large, address)).toBe(0xffff_ffff_ffff_fff1n)
  })

  it('refuses other values', () => {
    expect(() => currentStream('cuda' as never)).toThrow(ArgumentError)
    expect(() => currentStream(null as never)).toThrow('device must be a device')
    expect(() => currentStream({ type: 1.5, id: 0 } as never)).toThrow('device must be a device')
    const wrong = 'stream must be the address of a stream, an object with a handle, or null'
    for (const stream of [5, -1n, 1n << 64n, 'cuda', undefined, {}, { handle: 5 }])
      expect(() => withStream(gpu, stream as never, () => 1)).toThrow(wrong)
    expect(() => withStream(gpu, null, 1 as never)).toThrow('run must be a function')
  })

  it('too many devices are an error, after which the streams are unchanged', () => {
    if (!isOwnLibrary) return
    const open = (id: number): void =>
      withStream(device('cuda', id), pointer, () => (id === 200 ? undefined : open(id + 1)))
    const error = thrownBy(() => open(100)) as PackedFuncError
    expect(error.kind).toBe('RuntimeError')
    expect(currentStream(device('cuda', 101)).address).toBe(0n)
  })
})
