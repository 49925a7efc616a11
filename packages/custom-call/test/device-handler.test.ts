import { ArgumentError, tensor, type Tensor } from '@tenon/core'
import {
  f32,
  targetCall,
  TargetRegistry,
  typedHandler,
  UnimplementedError,
  type TypedHandler,
} from '@tenon/custom-call'
import { describe, expect, test } from 'vitest'
import { filled, kernels, liveObjects } from './kernels.ts'

const cuda = { type: 2, id: 0 }
const rocm = { type: 10, id: 0 }

/** Declares host memory to be a device's, because the convention only passes pointers. */
const on = (device: typeof cuda, host: Tensor): Tensor => tensor(host.dtype, host.shape, host.segment, { device })

/** An invented stream, in which the handlers count their calls. */
function fakeStream(): { readonly stream: bigint; readonly enqueued: () => bigint } {
  const counter = tensor('s64', [])
  return { stream: counter.segment.address, enqueued: () => counter.toArray()[0] as bigint }
}

describe.each(['v1', 'v2', 'v3'])('a handler of a device, %s, with host memory and an invented stream', (version) => {
  const handler: TypedHandler = typedHandler(kernels, `scale_on_stream_${version}`, { platform: 'CUDA' })
  const [x, y] = [filled([3], (i) => i + 1), tensor('f32', [3])]
  const [deviceX, deviceY] = [on(cuda, x), on(cuda, y)]
  const shape = { operands: [f32([3])], results: [f32([3])], attrs: { a: f32(2) } }

  test('gets its stream and device pointers', async () => {
    const { stream, enqueued } = fakeStream()
    using call = handler.prepare({ ...shape, stream })
    call.run([deviceX], [deviceY])
    expect([y.toArray(), enqueued()]).toEqual([[2, 4, 6], 1n])
    using bound = call.bind([deviceY], [deviceY])
    bound.run()
    expect([y.toArray(), enqueued()]).toEqual([[4, 8, 12], 2n])
    await call.runAsync([deviceX], [deviceY])
    expect([y.toArray(), enqueued()]).toEqual([[2, 4, 6], 3n])
  })

  test('gets the default stream for 0n, and UNAVAILABLE without a stream', () => {
    using call = handler.prepare({ ...shape, stream: 0n })
    call.run([deviceX], [deviceY])
    expect(y.toArray()).toEqual([2, 4, 6])
    using without = handler.prepare(shape)
    expect(() => without.run([deviceX], [deviceY])).toThrow(UnimplementedError as never)
    expect(() => without.run([deviceX], [deviceY])).toThrow(/GPU stream is not available/)
  })

  test('accepts a stream of another library as an object with a handle', async () => {
    const { stream: handle, enqueued } = fakeStream()
    using call = handler.prepare({ ...shape, stream: { handle } })
    call.run([deviceX], [deviceY])
    await call.runAsync([deviceX], [deviceY])
    expect([y.toArray(), enqueued()]).toEqual([[2, 4, 6], 2n])
    expect(() => handler.prepare({ ...shape, stream: {} as never })).toThrow(/must be the address of a stream/)
  })

  test('refuses host tensors', () => {
    using call = handler.prepare({ ...shape, stream: 0n })
    expect(() => call.run([x], [y])).toThrow(/must be on device type 2, got device type 1/)
    expect(() => call.run([on(rocm, x)], [deviceY])).toThrow(ArgumentError)
  })

  test('declares that its work can be captured', () => {
    expect(handler.metadata.commandBufferCompatible).toBe(true)
    expect(handler.platform).toBe('CUDA')
  })

  test('can be called by a signature', () => {
    using call = targetCall('(x: f32[n]) -> (y: f32[n]); a: f32', handler).prepare([deviceX], { a: 3 }, { stream: 0n })
    call.run([deviceX], [deviceY])
    expect(y.toArray()).toEqual([3, 6, 9])
  })
})

describe('a device handler in a registry', () => {
  test('is found by its platform, without case', () => {
    const registry = new TargetRegistry()
    registry.registerTyped(
      'scale',
      { execute: { library: kernels, symbol: 'scale_on_stream_v3' } },
      { platform: 'gpu' },
    )
    const [x, y] = [filled([1], () => 2), tensor('f32', [1])]
    const shape = { operands: [x], results: [y], attrs: { a: f32(2) } }
    using call = registry.prepare('scale', { ...shape, platform: 'CUDA', stream: 0n })
    call.run([on(cuda, x)], [on(cuda, y)])
    expect(y.toArray()).toEqual([4])
    expect(() => registry.prepare('scale', { ...shape, platform: 'CUDA', hostScratch: true })).toThrow(
      /hostScratch must not be given to scale/,
    )
    expect(() => registry.prepare('scale', { ...shape, platform: 'CUDA', stream: 5 as never })).toThrow(ArgumentError)
    registry.unregister('scale', { platform: 'CUDA' })
  })

  test('uses ROCM devices for ROCM, and cannot be called for unknown platforms', () => {
    const [x, y] = [filled([1], () => 2), tensor('f32', [1])]
    const shape = { operands: [x], results: [y], attrs: { a: f32(2) } }
    using call = typedHandler(kernels, 'scale_on_stream_v2', { platform: 'rocm' }).prepare({ ...shape, stream: 0n })
    call.run([on(rocm, x)], [on(rocm, y)])
    expect(y.toArray()).toEqual([4])
    const other = typedHandler(kernels, 'scale_on_stream_v2', { platform: 'TPU' })
    expect(() => other.prepare(shape)).toThrow(UnimplementedError as never)
    expect(() => other.prepare(shape)).toThrow(/is a handler for TPU/)
  })
})

test('nothing is left behind', () => expect(liveObjects()).toEqual({ errors: 0, futures: 0 }))
