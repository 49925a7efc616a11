import { cpu, gcAllocator, Segment, Tensor, tensorType } from '@tenon/core'
import { globalGate } from '@tenon/core/internal'
import { SharedMemory } from '@tenon/pools'
import { expect, test } from 'vitest'
import { StagedCall } from '../src/staged-call.ts'
import { faultyKernel } from './faulty.ts'

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
  const staged = new StagedCall({ gate: globalGate }, memory, {
    kernel: faultyKernel(),
    operands,
    options: {},
    read: () => {},
    failure: () => undefined,
  })
  expect(staged.operands.map((one) => one!.offset % 64)).toEqual([1, 8])
  staged.released()
})
