/** The examples for GPUs of XLA's document of custom calls. Without a GPU, tests run them on a simulated device. */
import assert from 'node:assert/strict'
import { NativeLibrary, type Tensor, tensor } from 'tenon/core'
import {
  type Cuda,
  type CudaStream,
  type DeviceMemory,
  f32,
  readShapeProto,
  registeredFunction,
  shapeProto,
  typedHandler,
} from 'tenon/custom-call'

const BYTES = 4 * (128 + 2048 + 2048)

/** Two operands of ones and a result, in memory of the device. */
function tensorsIn(memory: DeviceMemory, stream: CudaStream): [Tensor, Tensor, Tensor] {
  const param0 = memory.tensor('f32', [128])
  const param1 = memory.tensor('f32', [2048], 4 * 128)
  for (const x of [param0, param1]) stream.copy(tensor('f32', x.shape, new Float32Array(x.shape[0]!).fill(1)), x)
  return [param0, param1, memory.tensor('f32', [2048], 4 * (128 + 2048))]
}

async function valuesOf(x: Tensor, stream: CudaStream): Promise<Set<unknown>> {
  const host = tensor('f32', x.shape)
  stream.copy(x, host)
  await stream.finished()
  return new Set(host.toArray())
}

export async function gpu(directory: string, cuda: Cuda): Promise<void> {
  using device = cuda.openDevice(0)
  using stream = device.openStream()
  using memory = device.allocate(BYTES)
  const [param0, param1, out] = tensorsIn(memory, stream)
  NativeLibrary.open(`${directory}/libdo_gpu_call.so`)
  using call = registeredFunction('do_gpu_call', { platform: 'CUDA' }).prepare({
    operands: [f32([128]), f32([2048])],
    results: [f32([2048])],
    stream,
  })
  call.run([param0, param1], [out])
  assert.deepEqual(await valuesOf(out, stream), new Set([2]))
}

export function opaqueShape(directory: string, cuda: Cuda): void {
  using device = cuda.openDevice(0)
  using stream = device.openStream()
  NativeLibrary.open(`${directory}/libdo_gpu_call.so`)
  const [operands, shape] = [[f32([128]), f32([2048])], f32([2048])]
  const opaque = shapeProto(shape)
  const call = registeredFunction('do_gpu_call', { platform: 'CUDA' })
  call.prepare({ operands, results: [shape], opaque, stream }).close()
  assert.deepEqual(readShapeProto(opaque), shape)
}

export async function typedGpu(directory: string, cuda: Cuda): Promise<void> {
  using device = cuda.openDevice(0)
  using stream = device.openStream()
  using memory = device.allocate(BYTES)
  const [param0, param1, out] = tensorsIn(memory, stream)
  const library = NativeLibrary.open(`${directory}/libdo_gpu_call.so`)
  using call = typedHandler(library, 'do_typed_gpu_call', { platform: 'CUDA' }).prepare({
    operands: [f32([128]), f32([2048])],
    results: [f32([2048])],
    stream,
  })
  call.run([param0, param1], [out])
  assert.deepEqual(await valuesOf(out, stream), new Set([2]))
}
