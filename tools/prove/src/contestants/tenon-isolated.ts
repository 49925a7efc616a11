import type { Contestant, Offered, Setup } from '../contestant.ts'
import { bindWork, int32 } from './tenon.ts'

/** Tenon with the library in a process of its own. */
export const tenonIsolated: Contestant = {
  name: 'tenon-isolated',
  description: '`Library.isolate()`, with the same declarations and one worker process',
  runtimes: ['node', 'bun', 'deno'],
  isRemote: true,
  open: openIsolated,
}

async function openIsolated({ library: path }: Setup): Promise<Offered> {
  const { Library } = await import('tenon')
  const { MemorySegment } = await import('tenon/scope')
  const library = await Library.isolate(path, { workers: 1 })
  return {
    ...(await bindWork(library as never)),
    allocate: (size) => {
      const arena = library.memory.arena()
      const segment = MemorySegment.ofSegment(arena.allocate(size))
      return {
        argument: segment,
        read: (index) => segment.getUint8(index),
        write: (index, value) => segment.setUint8(index, value),
        free: () => arena.close(),
      }
    },
    spin: (milliseconds) => library.function('prove_spin', int32, { deadline: milliseconds })(1),
    close: () => library.closeAsync(),
  }
}
