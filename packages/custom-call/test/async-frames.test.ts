import { eventually } from '@tenon/config/eventually'
import {
  ArgumentError,
  gcAllocator,
  NativeLibrary,
  parseSignature,
  ScopeHeldError,
  tensor,
  type Tensor,
} from '@tenon/core'
import { globalGate } from '@tenon/core/internal'
import {
  customCall,
  f32,
  FunctionTarget,
  hostCall,
  InvalidArgumentError,
  PreparedCall,
  s32,
  targetCall,
  typedHandler,
  TypedHandler,
  UnavailableError,
} from '@tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { kernels, liveObjects } from './kernels.ts'

// Asynchronous calls use the prepared call that is kept for their types. Each run in flight has a frame of its own.

let holds = globalGate.holds
afterEach(() => {
  vi.restoreAllMocks()
  expect(liveObjects()).toStrictEqual({ errors: 0, futures: 0 })
  expect(globalGate.holds).toBe(holds)
  holds = globalGate.holds
})

const SIGNATURE = parseSignature('saxpy', '(x: f32[n], y: f32[n]) -> (z: f32[n]); a: f32')

type Saxpy = (x: Tensor, y: Tensor, options?: object, a?: number) => Promise<Tensor>

/** The forms of calls as functions. */
const forms: Readonly<Record<string, (library: NativeLibrary, frames?: number) => Saxpy>> = {
  'customCall()': (library) => {
    const saxpy = customCall(library, 'saxpy')
    return (x, y, options, a = 2) => saxpy.async([x, y], { results: [x.type], attrs: { a: f32(a) }, ...options })
  },
  'targetCall()': (library, frames = 8) => {
    const saxpy = targetCall(SIGNATURE, typedHandler(library, 'saxpy'), { frames })
    return (x, y, options, a = 2) => saxpy.async(x, y, { a }, options ?? {})
  },
}

const vector = (length: number, value: number): Tensor => tensor('f32', [length], new Float32Array(length).fill(value))

function countFrames(): () => [prepared: number, closed: number] {
  const prepare = vi.spyOn(TypedHandler.prototype, 'prepare')
  const close = vi.spyOn(PreparedCall.prototype, 'close')
  return () => [prepare.mock.calls.length, close.mock.calls.length]
}

describe.each(Object.entries(forms))('asynchronous calls of %s', (_, open) => {
  test('prepare once for 500 calls in flight, each of which has pointers of its own', async () => {
    const count = countFrames()
    const saxpy = open(kernels)
    const one = vector(4, 1)
    for (let round = 0; round < 2; round++) {
      const results = await Promise.all(Array.from({ length: 500 }, (__, i) => saxpy(vector(4, i), one)))
      results.forEach((z, i) => expect(z.toArray()).toStrictEqual(Array(4).fill(2 * i + 1)))
    }
    expect(count()).toStrictEqual([1, 0])
  })

  test('of 64 shapes at once share a prepared call, and have a frame each', async () => {
    const count = countFrames()
    const library = NativeLibrary.open(kernelLibrary('kernels'))
    const saxpy = open(library)
    const lengths = Array.from({ length: 64 }, (__, i) => i + 1)
    for (let round = 0; round < 3; round++) {
      const runs = lengths.map((length) => saxpy(vector(length, length), vector(length, round)))
      expect(() => library.close()).toThrow(ScopeHeldError)
      for (const [i, z] of (await Promise.all(runs)).entries()) {
        expect(z.toArray()).toStrictEqual(Array(i + 1).fill(2 * (i + 1) + round))
      }
    }
    expect(count()).toStrictEqual([1, 0])
    library.close()
    expect(count()).toStrictEqual([1, 1])
  })

  test('finish after newer attributes have taken the place of theirs, and close each frame once', async () => {
    const count = countFrames()
    const library = NativeLibrary.open(kernelLibrary('kernels'))
    const saxpy = open(library)
    const factors = Array.from({ length: 20 }, (__, i) => i + 1)
    const runs = factors.map((a) => saxpy(vector(a, a), vector(a, 1), {}, a))
    expect(() => library.close()).toThrow(ScopeHeldError)
    for (const [i, z] of (await Promise.all(runs)).entries()) {
      expect(z.toArray()).toStrictEqual(Array(i + 1).fill((i + 1) ** 2 + 1))
    }
    expect(count()[0]).toBe(20)
    library.close()
    expect(count()).toStrictEqual([20, 20])
  })

  test('use memory of an allocator that calls the function again, or throws', async () => {
    const count = countFrames()
    const saxpy = open(kernels)
    const [x, y] = [vector(3, 1), vector(3, 2)]
    const inner: Promise<Tensor>[] = []
    const others = Array.from({ length: 12 }, (__, i) => vector(i + 4, 5))
    const allocator = {
      allocate: (byteSize: number, alignment: number) => {
        for (const other of [x, ...others]) inner.push(saxpy(other, other))
        return gcAllocator.allocate(byteSize, alignment)
      },
    }
    expect((await saxpy(x, y, { allocator })).toArray()).toStrictEqual([4, 4, 4])
    const [same, ...rest] = await Promise.all(inner)
    expect(same!.toArray()).toStrictEqual([3, 3, 3])
    for (const z of rest) expect(new Set(z.toArray())).toStrictEqual(new Set([15]))
    const mine = new Error('mine')
    const throwing = {
      allocate: () => {
        throw mine
      },
    }
    await expect(saxpy(x, y, { allocator: throwing })).rejects.toBe(mine)
    const [prepared] = count()
    expect((await saxpy(x, y)).toArray()).toStrictEqual([4, 4, 4])
    expect(count()[0] - prepared).toBeLessThanOrEqual(1)
  })

  test('that fail leave the frame to the next call', async () => {
    const count = countFrames()
    const saxpy = open(kernels)
    const [x, y] = [vector(3, 1), vector(3, 2)]
    const closed = { signal: AbortSignal.abort(new Error('mine')) }
    await saxpy(x, y)
    for (let i = 0; i < 3; i++) {
      await expect(saxpy(x, y, closed)).rejects.toThrow('mine')
      await expect(saxpy(x, y, { deadline: 0 })).rejects.toThrow('deadline')
      await expect(saxpy(x, new Proxy(y, {}))).rejects.toThrow(ArgumentError)
    }
    const runs = Array.from({ length: 64 }, () =>
      saxpy(x, y, { signal: new AbortController().signal, deadline: 10_000 }),
    )
    for (const z of await Promise.all(runs)) expect(z.toArray()).toStrictEqual([4, 4, 4])
    expect(count()).toStrictEqual([1, 0])
  })

  test('reject with the error of their own run', async () => {
    const saxpy = open(kernels)
    const runs = Array.from({ length: 64 }, (__, i) => saxpy(vector(3, 1), vector(i % 2 === 0 ? 3 : 4, 1)))
    for (const [i, { status }] of (await Promise.allSettled(runs)).entries()) {
      expect(status).toBe(i % 2 === 0 ? 'fulfilled' : 'rejected')
    }
  })
})

test('synchronous calls between asynchronous ones have a frame of their own', async () => {
  const count = countFrames()
  const saxpy = targetCall(SIGNATURE, typedHandler(kernels, 'saxpy'))
  const y = vector(4, 1)
  const runs = Array.from({ length: 50 }, (_, i) => {
    const later = saxpy.async(vector(4, i), y, { a: 2 })
    expect(saxpy(vector(4, 100 + i), y, { a: 2 }).toArray()).toStrictEqual(Array(4).fill(2 * (100 + i) + 1))
    return later
  })
  for (const [i, z] of (await Promise.all(runs)).entries()) expect(z.toArray()).toStrictEqual(Array(4).fill(2 * i + 1))
  expect(count()).toStrictEqual([1, 0])
})

test('a run that is abandoned keeps its frame until the kernel has returned', async () => {
  const count = countFrames()
  const signature = parseSignature('wait_for_flag', '(flag: s32) -> (out: s32)')
  const wait = targetCall(signature, typedHandler(kernels, 'wait_for_flag'), { frames: 1 })
  const flags = [tensor('s32', []), tensor('s32', [])] as const
  const set = (flag: Tensor, value: number): void => void (flag.view() as Int32Array).fill(value)
  const abandoned = wait.async(flags[0], { deadline: 20 })
  await expect(abandoned).rejects.toThrow('20 ms')
  // The next run does not use the frame that the kernel still reads.
  const next = wait.async(flags[1])
  set(flags[1], 5)
  expect((await next).toArray()).toStrictEqual([5])
  set(flags[0], 7)
  await eventually(() => expect(globalGate.holds).toBe(holds))
  const last = wait.async(flags[0])
  expect((await last).toArray()).toStrictEqual([7])
  expect(count()).toStrictEqual([1, 0])
})

test('calls with a state close their own frame after the run', async () => {
  const count = countFrames()
  const counter = customCall(kernels, { execute: 'counter_v3', instantiate: 'counter_v3_instantiate' })
  const { type } = tensor('s64', [])
  const results = await Promise.all(
    Array.from({ length: 3 }, () => counter.async([], { results: [type], attrs: { start: 5n } })),
  )
  expect(results.map((n) => n.toArray())).toStrictEqual([[5n], [5n], [5n]])
  expect(count()).toStrictEqual([3, 3])
})

/** Returns the error with which a promise rejects. What throws at once is not caught. */
const outcomeOf = (call: () => Promise<unknown>): Promise<unknown> => call().catch((error: unknown) => error)

test('asynchronous calls of all forms reject, and never throw at once', async () => {
  const typed = customCall(kernels, 'saxpy')
  const runtime = NativeLibrary.open(kernelLibrary('kernels_runtime'))
  const host = hostCall(runtime, 'increment')
  const kernel = targetCall(SIGNATURE, typedHandler(kernels, 'saxpy'))
  const listed = targetCall({ ...SIGNATURE, source: 'none' } as typeof SIGNATURE, typedHandler(kernels, 'saxpy'))
  using prepared = typedHandler(kernels, 'saxpy').prepare({
    operands: [f32([1]), f32([1])],
    results: [f32([1])],
    attrs: { a: f32(1) },
  })
  const revoked = Proxy.revocable({}, {})
  revoked.revoke()
  const hostile = [undefined, null, 1, 'x', Symbol('x'), [], {}, revoked.proxy, new Proxy([], {}), { length: 2 }]
  for (const call of [typed, host, kernel, listed] as { async: (...args: unknown[]) => Promise<unknown> }[]) {
    for (const first of hostile) {
      for (const second of hostile) expect(await outcomeOf(() => call.async(first, second))).toBeInstanceOf(Error)
    }
  }
  for (const first of hostile) {
    for (const second of hostile)
      expect(await outcomeOf(() => prepared.runAsync(first as never, second as never))).toBeInstanceOf(Error)
  }
  using target = FunctionTarget.open('one', '() -> (one: s32[])', () => {})
  const call = target.handler.prepare({ results: [s32([])] })
  await expect(call.runAsync([], [tensor('s32', [])])).rejects.toThrow(UnavailableError)
  call.close()
  await expect(
    typed.async([vector(1, 1), vector(2, 1)], { results: [f32([1])], attrs: { a: f32(1) } }),
  ).rejects.toThrow(InvalidArgumentError)
  runtime.close()
})
