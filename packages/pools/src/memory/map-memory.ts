import { failed } from '../error-status.ts'
import { Chunk } from './chunk.ts'
import { seals } from './descriptor.ts'
import { describeMemory } from './import-pool.ts'
import { openMapping } from './mapping.ts'

/**
 * Maps memory of somebody else, after comparing it with the kernel's facts. The chunk takes the descriptor over, except if this
 * throws.
 *
 * @throws {PoolsError} P15 if the memory could shrink, fault or is smaller. P17 if it cannot be mapped.
 */
export function mapMemory(
  descriptor: number,
  expected: { readonly id: number; readonly byteSize: number },
  owner: { readonly open: boolean },
): Chunk {
  const info = describeMemory('shared', descriptor)
  if (expected.byteSize < 1 || info.byteSize < expected.byteSize)
    throw failed('P15', `the memory must have ${expected.byteSize} bytes, it has ${info.byteSize}`)
  const isWritable = (info.seals & (seals.WRITE | seals.FUTURE_WRITE)) === 0 && info.canWrite
  const mapping = openMapping(descriptor, 0, expected.byteSize, { isShared: isWritable, isGuarded: false })
  return new Chunk(owner, descriptor, mapping, isWritable, expected.id)
}
