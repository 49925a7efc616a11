import { tensor, type Tensor } from '@tenon/core'
import {
  f32,
  s64,
  type CudaDevice,
  type CudaKernel,
  type CudaStream,
  type DeviceMemory,
  type PreparedCall,
} from '@tenon/custom-call'
import { afterEach, beforeEach, expect } from 'vitest'
import { cuda, cudaHandler, driverFunction, isReal, openObjects, simulated } from './cuda-fixture.ts'

/** The number of elements of the tensors. */
export const N = 1000
const before = openObjects()

// Each test has its own device, stream and memory; importers see the new values.
export let device: CudaDevice
export let stream: CudaStream
export let memory: DeviceMemory

beforeEach(() => {
  device = cuda.openDevice(0)
  stream = device.openStream()
  memory = device.allocate(2 * 4 * N)
})

afterEach(() => {
  if (!isReal) simulated.hold(false)
  if (stream.isAlive) stream.close()
  if (memory.isAlive) memory.close()
  device.close()
  // Every allocation, stream, event, module, graph, pinned range and context has been freed.
  expect(openObjects()).toStrictEqual(before)
})

export const ones = (): Tensor => tensor('f32', [N], new Float32Array(N).fill(1))
export const numbers = (): Tensor =>
  tensor(
    'f32',
    [N],
    Float32Array.from({ length: N }, (_, i) => i),
  )

/** Copies the values of device memory. */
export async function valuesOf(on: Tensor): Promise<Float32Array> {
  const host = tensor('f32', [N])
  stream.copy(on, host)
  await stream.finished()
  return host.view() as Float32Array
}

/** Makes device tensors x = 0, 1, 2 ... and y = 1, 1, 1 ... */
export function operands(): [x: Tensor, y: Tensor] {
  const [x, y] = [memory.tensor('f32', [N]), memory.tensor('f32', [N], 4 * N)]
  stream.copy(numbers(), x)
  stream.copy(ones(), y)
  return [x, y]
}

/** Returns the values of y after a number of runs with a = 2. */
export const expected = (times: number): Float32Array => Float32Array.from({ length: N }, (_, i) => 1 + times * 2 * i)

/** Prepares a call of a saxpy handler on the stream. */
export function saxpyCall(kernel: CudaKernel, name = 'cuda_saxpy_v3'): PreparedCall {
  const attrs = { a: f32(2), kernel: s64(kernel.handle), launch: s64(driverFunction('cuLaunchKernel')) }
  const [x, y] = [f32([N]), f32([N])]
  return cudaHandler(name).prepare({
    operands: [x, y],
    results: [y],
    attrs,
    aliases: [{ operand: 1, result: 0 }],
    stream,
  })
}
