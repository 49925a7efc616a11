/** The memory pools and memory domains of Android's NNAPI HAL, in the order of its page. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { buildModel, type BuiltModel, localDriver } from 'tenon/nnapi'
import { poolToHidl } from 'tenon/nnapi/hidl'
import { createFrozenPool, createImagePool, createPool, openFilePool } from 'tenon/pools'

const relu = (dimensions: readonly number[]): BuiltModel =>
  buildModel((g) => {
    const x = g.input('TENSOR_FLOAT32', dimensions)
    g.output(g.operation('RELU', [x], { type: 'TENSOR_FLOAT32', dimensions }))
  })

export function constants(): void {
  using weights = createFrozenPool(new Float32Array([1, 2, 3, 4]))
  using model = buildModel((g) => {
    const x = g.input('TENSOR_FLOAT32', [4])
    const type = { type: 'TENSOR_FLOAT32', dimensions: [4] } as const
    const sum = g.operation(
      'ADD',
      [x, g.constant('TENSOR_FLOAT32', [4], weights.slice(0, 16)), g.scalar('INT32', 0)],
      type,
    )
    g.output(sum)
  })
  const lifetimes = model.main.operands.map(({ lifetime }) => lifetime)
  assert.deepEqual(lifetimes, ['SUBGRAPH_INPUT', 'CONSTANT_POOL', 'CONSTANT_COPY', 'SUBGRAPH_OUTPUT'])
}

export function ashmem(): void {
  using pool = createPool(4096)
  assert.equal(poolToHidl(pool).name, 'ashmem')
}

export function mmapFd(directory: string): void {
  writeFileSync(`${directory}/weights.bin`, Buffer.alloc(4096))
  using pool = openFilePool(`${directory}/weights.bin`)
  const { name, handle } = poolToHidl(pool)
  assert.deepEqual([name, handle?.fds.length, handle?.ints.length], ['mmap_fd', 1, 3])
}

export function hardwareBufferBlob(): void {
  using pool = createPool(4096, { kind: 'device-blob' })
  assert.equal(poolToHidl(pool).name, 'hardware_buffer_blob')
}

export function hardwareBuffer(): void {
  using image = createImagePool({ width: 4, height: 4, format: 'R8G8B8A8_UNORM' })
  assert.equal(poolToHidl(image).name, 'hardware_buffer')
}

export async function memoryDomain(): Promise<void> {
  using model = relu([2])
  await using driver = localDriver()
  const prepared = await driver.prepare(model)
  const buffer = await driver.allocate({ roles: [prepared.output(0), prepared.input(0)] }) // IDevice::allocate
  using memory = createPool(64)
  memory.write(0, new Float32Array([-1, 2]))
  await buffer.copyFrom(memory.slice(0, 8)) // IBuffer::copyFrom
  prepared.run({ inputs: [buffer], outputs: [memory.slice(16, 8)] })
  prepared.run({ inputs: [memory.slice(16, 8)], outputs: [buffer] })
  await buffer.copyTo(memory.slice(32, 8)) // IBuffer::copyTo
  assert.deepEqual([...new Float32Array(memory.read(32, 8).buffer)], [0, 2])
}

export async function dynamicDimensions(): Promise<void> {
  using model = relu([0])
  await using driver = localDriver()
  const prepared = await driver.prepare(model)
  const state = await driver.allocate({ roles: [prepared.output(0)] })
  using memory = createPool(64)
  prepared.run({ inputs: [memory.slice(0, 12, { dimensions: [3] })], outputs: [state] })
  assert.deepEqual(await state.shape(), [3])
}
