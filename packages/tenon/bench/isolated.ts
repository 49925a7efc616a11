import { PAGES } from '@tenon/bench'
import { Library, tensor } from 'tenon'

/** A kernel in a process of its own, with an operand in shared memory and a place for its result. */
export interface IsolatedCall {
  readonly call: () => unknown
  readonly callAsync: () => Promise<unknown>
  readonly close: () => Promise<void>
}

/** Calls until the engine has compiled the whole path. */
const WARMUP = 20_000

/** Opens a kernel of `csrc/pages.c` in a worker. */
export async function openIsolated(kernel: 'touch_pages' | 'read_nothing', byteSize: number): Promise<IsolatedCall> {
  const library = await Library.isolate(PAGES)
  const run = library.kernel(kernel)
  const x = tensor('uint8', [byteSize], undefined, { allocator: library.memory })
  const into = tensor('float32', [1], undefined, { allocator: library.memory })
  const options = { into }
  for (let i = 0; i < (byteSize > 2 ** 22 ? 200 : WARMUP); i++) run(x, options)
  for (let i = 0; i < (byteSize > 2 ** 22 ? 50 : WARMUP / 4); i++) await run.async(x, options)
  return {
    call: () => run(x, options),
    callAsync: () => run.async(x, options),
    close: () => library.closeAsync(),
  }
}

/** Opens a kernel in a worker that reads nothing, and calls it with operands of so many sizes in turn. */
export async function openShapes(count: number): Promise<Omit<IsolatedCall, 'callAsync'>> {
  const library = await Library.isolate(PAGES)
  const run = library.kernel('read_nothing')
  const memory = tensor('uint8', [count], undefined, { allocator: library.memory })
  const operands = Array.from({ length: count }, (_, i) => memory.slice([0, i + 1]))
  const options = { into: tensor('float32', [1], undefined, { allocator: library.memory }) }
  let at = 0
  const call = (): unknown => run(operands[at++ % count]!, options)
  for (let i = 0; i < WARMUP; i++) call()
  return { call, close: () => library.closeAsync() }
}

/** The same call in this process. */
export function openInProcess(byteSize: number): { readonly call: () => unknown; readonly close: () => Promise<void> } {
  const library = Library.open(PAGES)
  const run = library.kernel('touch_pages')
  const x = tensor('uint8', [byteSize])
  const options = { into: tensor('float32', [1]) }
  for (let i = 0; i < WARMUP; i++) run(x, options)
  return { call: () => run(x, options), close: async () => library.close() }
}
