import { describe, expect, test } from 'vitest'

import { gcAllocator } from '../src/memory/allocators.ts'
import { ArgumentError, ScopeClosedError, ScopeHeldError } from '../src/errors/kinds.ts'
import { NativeLibrary } from '../src/native/native-library.ts'
import { StructType } from '../src/native/struct-type.ts'
import { Segment } from '../src/memory/segment.ts'
import { Block } from '../src/memory/block.ts'
import { ManagedLifetime } from '../src/memory/managed-lifetime.ts'
import { addressOf } from '../src/native/native-memory.ts'
import { from } from '../src/types/tensor-from.ts'
import { tensor } from '../src/types/make-tensor.ts'
import { structOf } from './plan-fixture.ts'

const libc = NativeLibrary.open('libc.so.6')

class Owner extends ManagedLifetime {
  readonly segment: Segment

  constructor() {
    super()
    const buffer = new ArrayBuffer(64)
    const block = new Block(this.gate, new DataView(buffer), Buffer.from(buffer), addressOf(buffer))
    this.segment = new Segment(block, 0, 64, 0)
  }

  protected override get label(): string {
    return 'the owner'
  }

  protected override release(): void {}
}

function text(characters: string): Segment {
  const segment = gcAllocator.allocate(characters.length + 1)
  const view = segment.view()
  for (let i = 0; i < characters.length; i++) view.setUint8(i, characters.charCodeAt(i))
  return segment
}

if (process.platform === 'linux')
  describe('a call on another thread', () => {
    test('gives what a call on this one gives', async () => {
      const strlen = libc.function('strlen', { result: 'uint64', parameters: ['pointer'] })
      expect(await strlen.async(text('hello'))).toBe(5n)
      expect(await libc.function('abs', { result: 'int32', parameters: ['int32'] }).async(-3)).toBe(3)
    })

    test('holds its library until it has returned', async () => {
      const library = NativeLibrary.open('libc.so.6')
      const usleep = library.function('usleep', { result: 'int32', parameters: ['uint32'] })
      const pending = usleep.async(1000)
      expect(() => library.close()).toThrow(ScopeHeldError)
      expect(await pending).toBe(0)
      library.close()
      await expect(usleep.async(1)).rejects.toThrow(ScopeClosedError)
    })

    test('rejects wrong arguments, and holds nothing when one is refused', async () => {
      const library = NativeLibrary.open('libc.so.6')
      const usleep = library.function('usleep', { result: 'int32', parameters: ['uint32'] })
      for (const value of [-1, 0.5, null, 'a', {}])
        await expect(usleep.async(value as number)).rejects.toThrow(ArgumentError)
      // @ts-expect-error: the argument is missing
      await expect(usleep.async()).rejects.toThrow(ArgumentError)
      library.close()
    })
  })

if (process.platform === 'linux')
  describe('a variadic call', () => {
    const parameters = ['pointer', 'uint64', 'pointer', 'int32', 'float64'] as const

    test('passes its arguments', () => {
      const snprintf = libc.function('snprintf', { result: 'int32', parameters, fixedParameters: 3 })
      const out = gcAllocator.allocate(20)
      expect(snprintf(out, 20, text('%d %g'), 42, 1.5)).toBe(6)
      expect(Buffer.from(out.view().buffer, out.view().byteOffset, 6).toString()).toBe('42 1.5')
    })

    test('refuses what C would pass otherwise', () => {
      expect(() => libc.function('snprintf', { parameters: ['pointer', 'float32'], fixedParameters: 1 })).toThrow(
        /float64/,
      )
      for (const fixedParameters of [-1, 0.5, 6]) {
        expect(() => libc.function('snprintf', { parameters, fixedParameters })).toThrow(ArgumentError)
      }
    })
  })

if (process.platform === 'linux')
  describe('a struct by value', () => {
    const pair = new StructType(structOf(['int32', 'int32']))

    test('is returned to the first argument', () => {
      const segment = gcAllocator.allocate(8, 4)
      const div = libc.function('div', { result: pair, parameters: ['int32', 'int32'] })
      expect(div(segment, 17, 5)).toBeUndefined()
      expect([segment.view().getInt32(0, true), segment.view().getInt32(4, true)]).toEqual([3, 2])
      expect([pair.byteSize, pair.byteAlignment]).toEqual([8, 4])
    })
  })

test('memory that was transferred away through a raw view is not passed', () => {
  const strlen = libc.function('strlen', { result: 'uint64', parameters: ['pointer'] })
  const segment = text('hello')
  const moved = (segment.view().buffer as ArrayBuffer).transfer()
  expect(() => strlen(segment)).toThrow(ScopeClosedError)
  expect(moved.byteLength).toBeGreaterThan(0)
})

test.each([
  [new Float32Array(new ArrayBuffer(8, { maxByteLength: 16 })), /Copy the values to another array/],
  [
    tensor([
      [1, 2],
      [3, 4],
    ]).transpose(),
    /Pass a row-major copy, x\.contiguous\(\)\./,
  ],
  [new Proxy(tensor([1]), {}), /Put the bytes into memory of an allocator/],
  [new ArrayBuffer(2), /Put the bytes into memory of an allocator/],
  [4096n, /Put the bytes into memory of an allocator/],
])('the hint for %o as a pointer says what to pass instead', (value, hint) => {
  const strlen = libc.function('strlen', { result: 'uint64', parameters: ['pointer'] })
  expect(() => strlen(value as never)).toThrow(hint)
})

if (process.platform === 'linux')
  describe('a tensor for a pointer', () => {
    const types = { result: 'pointer', parameters: ['pointer', 'pointer', 'uint64'] } as const
    const memcpy = libc.function('memcpy', types)
    // With a scalar of another kind, the arguments are passed by a loop instead of a generated form.
    const printed = libc.function('snprintf', {
      result: 'int32',
      parameters: ['pointer', 'uint64', 'pointer', 'int32', 'pointer', 'int32', 'int32'],
      fixedParameters: 3,
    })

    test('is the address of its first element', async () => {
      const [source, to] = [tensor('int32', [[1, 2, 3, 4]]).reshape([4]), tensor('int32', [4])]
      expect(memcpy(to, source, 16).address).toBe(to.segment.address)
      expect(to.toArray()).toEqual([1, 2, 3, 4])
      memcpy(to, source.slice([2, 4]), 8)
      expect(to.toArray()).toEqual([3, 4, 3, 4])
      expect((await memcpy.async(to.slice([1, 3]), source, 8)).address).toBe(to.segment.address + 4n)
      expect(to.toArray()).toEqual([3, 1, 2, 4])
    })

    test('over a typed array writes to the array', () => {
      const array = new Float64Array(2)
      memcpy(from(array), tensor('float64', [[1.5, 2.5]]), 16)
      expect([...array]).toEqual([1.5, 2.5])
    })

    test('is passed whatever the number of arguments', () => {
      const out = tensor('uint8', [16])
      expect(printed(out, 16, text('%d %s %d%d'), 1, from(Uint8Array.of(120, 0)), 2, 3)).toBe(6)
      expect(Buffer.from(out.toArray().slice(0, 6)).toString()).toBe('1 x 23')
    })

    test('holds its memory, and is refused after the memory was closed', async () => {
      const lifetime = new Owner()
      const x = tensor('uint8', [16], lifetime.segment)
      const usleep = libc.function('poll', { result: 'int32', parameters: ['pointer', 'uint64', 'int32'] })
      const pending = usleep.async(x, 0, 20)
      expect(() => lifetime.close()).toThrow(ScopeHeldError)
      await pending
      lifetime.close()
      expect(() => memcpy(x, x, 1)).toThrow(ScopeClosedError)
      await expect(memcpy.async(x, x, 1)).rejects.toThrow(ScopeClosedError)
    })

    test('is refused for a scalar and for a struct', () => {
      const abs = libc.function('abs', { result: 'int32', parameters: ['int32'] })
      // @ts-expect-error: a tensor is no number
      expect(() => abs(tensor([1]))).toThrow(ArgumentError)
      const pair = new StructType(structOf(['int32', 'int32']))
      const take = libc.function('abs', { parameters: [pair] })
      // @ts-expect-error: a struct is a segment
      expect(() => take(tensor('int32', [2]))).toThrow(ArgumentError)
    })
  })
