/** The example for CUDA of tvm-ffi's quick start. Without a GPU, a test runs it on a simulated device. */
import assert from 'node:assert/strict'
import { tensor } from 'tenon'
import type { Cuda } from 'tenon/custom-call'
import { device, Module, withStream } from 'tenon/packed-func'

export async function addOneCuda(directory: string, cuda: Cuda): Promise<void> {
  const mod = Module.open(`${directory}/libadd_one_cuda.so`)

  using gpu = cuda.openDevice(0)
  using stream = gpu.openStream()
  using memory = gpu.allocate(2 * 20)
  const [x, y] = [memory.tensor('f32', [5]), memory.tensor('f32', [5], 20)]
  stream.copy(tensor('f32', [5], [1, 2, 3, 4, 5]), x)

  withStream(device('cuda:0'), stream, () => mod.get('add_one_cuda')(x, y))

  const host = tensor('f32', [5])
  stream.copy(y, host)
  await stream.finished()
  assert.deepEqual(host.toArray(), [2, 3, 4, 5, 6])
}
