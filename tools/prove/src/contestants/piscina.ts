import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { Contestant, Offered, Setup } from '../contestant.ts'
import { accessTo } from './access.ts'
import { type RemoteCall, remotely } from './remote-call.ts'

interface Pool {
  run(task: RemoteCall, options?: { signal: AbortSignal }): Promise<unknown>
  destroy(): Promise<void>
}

/** koffi in a thread of its own, by piscina. */
export const piscina: Contestant = {
  name: 'piscina',
  description: 'koffi in a `worker_threads` worker of a piscina pool with one thread',
  runtimes: ['node'],
  isRemote: true,
  package: 'piscina',
  open: openPool,
}

function openPool(setup: Setup): Offered {
  const { Piscina } = createRequire(setup.rivals)('piscina') as { Piscina: new (options: object) => Pool }
  const filename = fileURLToPath(new URL('worker-thread.ts', import.meta.url))
  const pool = new Piscina({ filename, argv: [JSON.stringify(setup)], minThreads: 1, maxThreads: 1 })
  return {
    ...remotely((call) => pool.run(call)),
    // The bytes of a SharedArrayBuffer are the same in both threads.
    inPlace: (size) => {
      const bytes = new Uint8Array(new SharedArrayBuffer(size))
      return { argument: bytes, ...accessTo(bytes) }
    },
    spin: (milliseconds) => pool.run({ operation: 'spin', values: [1] }, { signal: AbortSignal.timeout(milliseconds) }),
    close: () => pool.destroy(),
  }
}
