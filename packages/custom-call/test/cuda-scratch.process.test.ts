import { ArgumentError, ScopeClosedError, tensor, type Tensor } from '@tenon/core'
import { captureGraph, CudaError, deviceFunction, f32, pred, s64, temp, type PreparedCall } from '@tenon/custom-call'
import { describe, expect, test } from 'vitest'
import { device, memory, N, numbers, operands, stream, valuesOf } from './cuda-device.ts'
import { cudaHandler, driverFunction, handlers, isReal, openObjects, simulated } from './cuda-fixture.ts'
import { thrownBy } from './kernels.ts'

const copy = driverFunction('cuMemcpyDtoDAsync_v2')
const [shape, expected] = [f32([N]), numbers().view() as Float32Array]

const typed = (fails = false): PreparedCall =>
  cudaHandler('cuda_copy_through_temp').prepare({
    operands: [shape],
    results: [shape, temp(shape)],
    attrs: { copy: s64(copy), fails: pred(fails) },
    stream,
  })

function untyped(): PreparedCall {
  const opaque = new BigInt64Array([copy, BigInt(4 * N)])
  return deviceFunction(handlers, 'cuda_copy_through_temp_original').prepare({
    operands: [shape],
    results: [shape, temp(shape)],
    opaque: new Uint8Array(opaque.buffer),
    stream,
  })
}

/** Counts the allocations on the device, once all work is done; the real driver does not report them. */
function allocations(): number {
  if (!isReal) simulated.hold(false)
  stream.synchronize()
  return isReal ? 0 : openObjects()['memory']!
}

describe.each([
  ['typed', typed],
  ['untyped', untyped],
] as const)('scratch of a %s call on a device', (_, prepare) => {
  test('is memory of the device, which the call keeps for its runs', async () => {
    const [x, y] = operands()
    const before = allocations()
    const call = prepare()
    expect(allocations() - before).toBe(isReal ? 0 : 1)
    for (let i = 0; i < 3; i++) {
      stream.fill(y, 0)
      call.run([x], [y])
      expect(await valuesOf(y)).toStrictEqual(expected)
    }
    expect(allocations() - before).toBe(isReal ? 0 : 1)
    call.close()
    expect(allocations()).toBe(before)
  })

  test('differs between runs that are in progress, and bound calls', async () => {
    const [x, y] = operands()
    const before = allocations()
    const call = prepare()
    const bound = call.bind([x], [y])
    await Promise.all([call.runAsync([x], [y]), bound.runAsync()])
    bound.run()
    expect(await valuesOf(y)).toStrictEqual(expected)
    expect(allocations() - before).toBe(isReal ? 0 : 3)
    bound.close()
    expect(allocations() - before).toBe(isReal ? 0 : 2)
    call.close()
    expect(allocations()).toBe(before)
  })

  test('is freed behind the work that uses it, without waiting', async () => {
    const [x, y] = operands()
    const before = allocations()
    if (!isReal) simulated.hold(true)
    const call = prepare()
    call.run([x], [y])
    call.close()
    expect(await (isReal ? undefined : Promise.race([stream.finished(), 'pending']))).toBe(
      isReal ? undefined : 'pending',
    )
    if (!isReal) simulated.hold(false)
    expect(await valuesOf(y)).toStrictEqual(expected)
    expect(allocations()).toBe(before)
  })

  if (!isReal) {
    test('is freed when the device has no memory for further runs', async () => {
      const [x, y] = operands()
      const before = allocations()
      const call = prepare()
      simulated.fail('cuMemAllocAsync', 2)
      expect(thrownBy(() => call.bind([x], [y]))).toBeInstanceOf(CudaError)
      simulated.fail('cuMemAllocAsync', 2)
      expect(thrownBy(prepare)).toBeInstanceOf(CudaError)
      call.run([x], [y])
      expect(await valuesOf(y)).toStrictEqual(expected)
      call.close()
      expect(allocations()).toBe(before)
    })
  }

  test('is freed when binding fails', () => {
    const [x, y] = operands()
    using call = prepare()
    const before = allocations()
    const wrong: Tensor = tensor('f32', [N])
    expect(() => call.bind([wrong], [y])).toThrow(ArgumentError)
    expect(() => call.bind([x], [y, y])).toThrow(ArgumentError)
    expect(allocations()).toBe(before)
  })

  test('is not allocated in a stream that is closed', () => {
    stream.close()
    expect(thrownBy(prepare)).toBeInstanceOf(ScopeClosedError)
  })
})

test('scratch of a call whose handler fails is freed when the call is closed', () => {
  const [x, y] = operands()
  const before = allocations()
  const call = typed(true)
  expect(() => call.run([x], [y])).toThrow(/cuMemcpyDtoDAsync gave CUDA result 0/)
  call.close()
  expect(allocations()).toBe(before)
})

test('scratch of a graph is freed when the graph is closed', async () => {
  const [x, y] = operands()
  using call = typed()
  const before = allocations()
  const graph = captureGraph(call, [x], [y])
  graph.launch()
  expect(await valuesOf(y)).toStrictEqual(expected)
  graph.close()
  expect(allocations()).toBe(before)
})

test('scratch without elements is a null pointer, and other streams cannot have scratch', () => {
  const options = { operands: [shape], results: [shape, temp(f32([0]))], opaque: 'x', stream }
  const before = allocations()
  const untypedCopy = deviceFunction(handlers, 'cuda_copy_through_temp_original')
  untypedCopy.prepare(options).close()
  expect(allocations()).toBe(before)
  for (const other of [undefined, 0n, { handle: stream.handle }]) {
    const error = thrownBy(() => untypedCopy.prepare({ ...options, stream: other as never }))
    expect(error).toBeInstanceOf(ArgumentError)
    expect((error as ArgumentError).message).toMatch(/must be prepared with a CudaStream/)
  }
  expect([device.isAlive, memory.isAlive]).toEqual([true, true])
})
