import { cpu, gcAllocator, Segment, tensor, Tensor, tensorType, type TensorType } from '@tenon/core'
import { globalGate, type RemoteCall, type RemoteKernel, type RemoteOperand } from '@tenon/core/internal'
import { SharedMemory } from '@tenon/pools'
import { expect, test } from 'vitest'
import { splitOptions } from '../src/isolate-options.ts'
import { StagedCall } from '../src/staged-call.ts'
import { StagingFrames } from '../src/staging-frames.ts'
import { WorkerHost } from '../src/worker-host.ts'
import { FAULT, faultyKernel, faultyLibrary } from './faulty.ts'

function stage(frames: StagingFrames, operands: readonly RemoteOperand[], kernel = faultyKernel()): StagedCall {
  const call = { kernel, operands, options: {}, read: () => {}, failure: () => undefined }
  return new StagedCall({ gate: globalGate }, frames, call)
}

const reads = (x: Tensor, type: TensorType = x.type): RemoteOperand => ({ tensor: x, type, isWritten: false })
const writes = (x: Tensor): RemoteOperand => ({ tensor: x, type: x.type, isWritten: true })

const answer = { status: 0, code: 0, error: 0, value: 0, isLong: false, hasStrings: false, nativeTime: 0 }
const success = { ...answer, body: new Uint8Array(0) }
const worker = { index: 0, process: 0 }

/** The ranges of the operands as bytes, which the worker sees. */
const bytesOf = (staged: StagedCall): Uint8Array[] =>
  staged.operands.map((one) => {
    const { chunk, offset, length } = one!
    return (chunk as unknown as { bytes: Uint8Array }).bytes.subarray(offset, offset + length)
  })

const placesOf = (staged: StagedCall): number[] => staged.operands.map((one) => one!.offset)

/** Tensors of bytes that share memory. @param parts the offset and the length of each */
function partsOf(...parts: readonly (readonly [offset: number, length: number])[]): Tensor[] {
  const { block } = gcAllocator.allocate(256, 64)
  return parts.map(
    ([offset, length]) => new Tensor(new Segment(block, offset, length, 0), tensorType('u8', [length]), cpu),
  )
}

test('copies of overlapping operands have the alignment of their tensors', () => {
  using memory = SharedMemory.open()
  const { block } = gcAllocator.allocate(128, 64)
  const places = [
    { offset: 1, type: tensorType('u8', [32]) },
    { offset: 8, type: tensorType('f64', [2]) },
  ]
  const operands = places.map(({ offset, type }) => {
    const segment = new Segment(block, offset, type.byteSize, 0)
    return { tensor: new Tensor(segment, type, cpu), type, isWritten: false }
  })
  const staged = stage(new StagingFrames(memory), operands)
  expect(staged.operands.map((one) => one!.offset % 64)).toEqual([1, 8])
  staged.released()
  expect(memory.usage.usedBytes).toBe(0)
})

test('copies of operands that overlap overlap in the same way, and others are apart', () => {
  using memory = SharedMemory.open()
  const frames = new StagingFrames(memory)
  const [a, b, c] = partsOf([0, 32], [16, 32], [64, 32]) as [Tensor, Tensor, Tensor]
  const staged = stage(frames, [reads(a), writes(b), reads(c)])
  const [first, second, third] = placesOf(staged) as [number, number, number]
  expect(second - first).toBe(16)
  expect(Math.abs(third - first)).toBeGreaterThanOrEqual(64)
  // The worker maps what a result shares as the result.
  expect(staged.operands.map((one) => one!.isWritten)).toEqual([true, true, false])
  staged.released()
  const apart = stage(frames, [reads(a), writes(c)])
  expect(apart.operands.map((one) => one!.isWritten)).toEqual([false, true])
  apart.released()
})

test('adjacent operands are apart', () => {
  using memory = SharedMemory.open()
  const [a, b] = partsOf([0, 32], [32, 32]) as [Tensor, Tensor]
  const staged = stage(new StagingFrames(memory), [reads(a), writes(b)])
  expect(staged.operands.map((one) => one!.isWritten)).toEqual([false, true])
  staged.released()
})

test('many operands that overlap are copied as one block', () => {
  using memory = SharedMemory.open()
  const parts = partsOf(...Array.from({ length: 40 }, (_, i): [number, number] => [i, 8]))
  const staged = stage(
    new StagingFrames(memory),
    parts.map((part) => reads(part)),
  )
  const [first] = placesOf(staged)
  expect(placesOf(staged)).toEqual(parts.map((_, i) => first! + i))
  staged.released()
})

test('the next run of a kernel copies to the same memory, with its own elements', () => {
  using memory = SharedMemory.open()
  const frames = new StagingFrames(memory)
  const kernel = faultyKernel()
  const [x, y] = [tensor('u8', [4], [1, 2, 3, 4]), tensor('u8', [4])]
  const first = stage(frames, [reads(x), writes(y)], kernel)
  expect(first.copiedBytes).toBe(8)
  bytesOf(first)[1]!.set([5, 6, 7, 8])
  first.read(success, worker)
  first.released()
  expect(y.toArray()).toEqual([5, 6, 7, 8])
  const other = tensor('u8', [4], [9, 10, 11, 12])
  const second = stage(frames, [reads(other), writes(y)], kernel)
  expect(placesOf(second)).toEqual(placesOf(first))
  expect(bytesOf(second).map((bytes) => [...bytes])).toEqual([other.toArray(), y.toArray()])
  second.released()
})

test('runs that are in progress at the same time have memory of their own', () => {
  using memory = SharedMemory.open()
  const frames = new StagingFrames(memory)
  const kernel = faultyKernel()
  const [x, y] = [tensor('u8', [2], [1, 2]), tensor('u8', [2], [3, 4])]
  const calls = [stage(frames, [reads(x)], kernel), stage(frames, [reads(y)], kernel)]
  expect(calls.map((call) => [...bytesOf(call)[0]!])).toEqual([
    [1, 2],
    [3, 4],
  ])
  for (const call of calls) call.released()
  expect(memory.usage.usedBytes).toBe(0)
})

test('memory that waits for the next run does not count as used, and a run of another size replaces it', () => {
  using memory = SharedMemory.open()
  const frames = new StagingFrames(memory)
  const kernel = faultyKernel()
  for (const length of [100, 1000, 100, 70_000]) {
    const x = tensor('u8', [length], new Uint8Array(length).fill(length % 251))
    const staged = stage(frames, [reads(x)], kernel)
    expect(memory.usage.usedBytes).toBe(Math.ceil(length / 64) * 64)
    expect([...bytesOf(staged)[0]!]).toEqual(x.toArray())
    staged.released()
    expect(memory.usage.usedBytes).toBe(0)
  }
})

test('large copies are given back after each run', () => {
  using memory = SharedMemory.open({ chunk: '8 MiB' })
  const frames = new StagingFrames(memory)
  const large = tensor('u8', [5 * 2 ** 20])
  stage(frames, [reads(large)]).released()
  expect(memory.idleBytes).toBe(0)
  expect(memory.usage.usedBytes).toBe(0)
})

test('the frames of all kernels that wait have at most 4 MiB, and at most 32 belong to one kernel', () => {
  using memory = SharedMemory.open({ chunk: '64 MiB' })
  const frames = new StagingFrames(memory)
  const x = tensor('u8', [2 ** 20])
  const kernels = Array.from({ length: 6 }, (_, i): RemoteKernel => faultyKernel(`kernel ${i}`))
  for (const kernel of kernels) stage(frames, [reads(x)], kernel).released()
  expect(memory.idleBytes).toBe(4 * 2 ** 20)
  for (const kernel of kernels) frames.forget(kernel)
  expect(memory.idleBytes).toBe(0)
  const small = tensor('u8', [64])
  const calls = Array.from({ length: 40 }, () => stage(frames, [reads(small)], kernels[0]!))
  for (const call of calls) call.released()
  expect(memory.idleBytes).toBe(32 * 64)
  expect(memory.usage.usedBytes).toBe(0)
})

test('the memory of a kernel is given back when the kernel is forgotten, and all of it when the library is closed', () => {
  using memory = SharedMemory.open()
  const frames = new StagingFrames(memory)
  const [kept, forgotten] = [faultyKernel('kept'), faultyKernel('forgotten')]
  const x = tensor('u8', [64])
  stage(frames, [reads(x)], forgotten).released()
  stage(frames, [reads(x)], kept).released()
  expect(memory.idleBytes).toBe(128)
  frames.forget(forgotten)
  expect(memory.idleBytes).toBe(64)
  const late = stage(frames, [reads(x)], kept)
  frames.close()
  late.released()
  expect([memory.idleBytes, memory.usage.usedBytes]).toEqual([0, 0])
})

test('a run is refused once the memory is closed, also if memory of the run before waits for it', () => {
  const memory = SharedMemory.open()
  const frames = new StagingFrames(memory)
  const kernel = faultyKernel()
  const x = tensor('u8', [64])
  stage(frames, [reads(x)], kernel).released()
  memory.close()
  expect(() => stage(frames, [reads(x)], kernel)).toThrow('is closed already')
  expect(memory.usage.usedBytes).toBe(0)
})

test('a run that gets only a part of its memory gives it back', () => {
  using memory = SharedMemory.open({ chunk: '1 MiB', limit: '1 MiB' })
  const frames = new StagingFrames(memory)
  const kernel = faultyKernel()
  const [x, large] = [tensor('u8', [64]), tensor('u8', [2 ** 21])]
  expect(() => stage(frames, [reads(x), reads(large)], kernel)).toThrow('at most 1048576 bytes')
  expect(memory.usage.usedBytes).toBe(0)
  const staged = stage(frames, [reads(x), reads(tensor('u8', [64]))], kernel)
  expect(memory.usage.usedBytes).toBe(128)
  staged.released()
})

test('an operand in another layout, and scratch memory, have places of their own', () => {
  using memory = SharedMemory.open()
  const frames = new StagingFrames(memory)
  const kernel = faultyKernel()
  const columns = tensor('u8', [2, 2], [1, 2, 3, 4]).toLayout('cm').type
  const scratch: RemoteOperand = { tensor: undefined, type: tensorType('u8', [16]), isWritten: true }
  for (const values of [
    [1, 2, 3, 4],
    [5, 6, 7, 8],
  ]) {
    const staged = stage(frames, [reads(tensor('u8', [2, 2], values), columns), scratch], kernel)
    const [a, b, c, d] = values
    expect([...bytesOf(staged)[0]!]).toEqual([a, c, b, d])
    expect(bytesOf(staged)[1]).toHaveLength(16)
    expect(staged.copiedBytes).toBe(4)
    staged.released()
  }
})

test.runIf(process.platform === 'linux')(
  'a library keeps the memory of copies, also after a crash, until the kernel is forgotten or the library is closed',
  async () => {
    const host = await WorkerHost.open({ path: faultyLibrary }, splitOptions({ restart: { backoff: 0 } }))
    const { allocator } = host
    const bytes = (): number[] => [allocator.usage.usedBytes, allocator.idleBytes]
    const kernel = faultyKernel()
    const elements = Array.from({ length: 16 }, (_, i) => i + 1)
    const [x, y] = [tensor('f32', [16], elements), tensor('f32', [16])]
    const call = (fault: number): RemoteCall<unknown[]> => ({
      kernel,
      operands: [reads(tensor('i32', [1], [fault])), reads(x), writes(y)],
      options: {},
      read: () => y.toArray(),
      failure: () => undefined,
    })
    const doubled = elements.map((element) => 2 * element)
    expect(host.run(call(FAULT.NONE))).toEqual(doubled)
    expect(bytes()).toEqual([0, 192])
    expect(() => host.run(call(FAULT.SEGV))).toThrow('SIGSEGV')
    expect(await host.runAsync(call(FAULT.NONE))).toEqual(doubled)
    expect(bytes()).toEqual([0, 192])
    host.forget(kernel)
    expect(bytes()).toEqual([0, 0])
    expect(host.run(call(FAULT.NONE))).toEqual(doubled)
    await host.closeAsync()
    expect([allocator.isAlive, ...bytes()]).toEqual([false, 0, 0])
  },
)
