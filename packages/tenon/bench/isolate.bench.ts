import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { PAGES, type Suite } from '@tenon/bench'
import { spawnDriver } from '@tenon/nnapi'
import { Library, tensor } from 'tenon'
import { openChildProcess, openWorker } from '../../nnapi/bench/node-transports.ts'
import { openBare, openDoorbell, openPools, script } from '../../nnapi/bench/round-trip.ts'
import { openInProcess, openIsolated, openShapes } from './isolated.ts'

const [KIB, MIB] = [1024, 2 ** 20]

/** The other side reads one byte of each page, with every peer. */
export const suite = {
  package: 'tenon',
  rows: [
    {
      name: 'isolated call, 4 KiB in shared memory',
      unit: 'ns',
      target: { 'koffi, seqpacket': 1, 'worker, Atomics.wait': 2, 'driver, run': 0.9 },
      setup: async () => {
        const [ours, bare] = [await openIsolated('touch_pages', 4 * KIB), await openBare(4 * KIB)]
        const [worker, driver] = [await openWorker(4 * KIB), await openPools(4 * KIB)]
        const inProcess = openInProcess(4 * KIB)
        return {
          ours: () => ours.call(),
          peers: {
            'koffi, seqpacket': () => bare.call(),
            'worker, Atomics.wait': () => worker.call(),
            'driver, run': () => driver.call(),
            'in process': () => inProcess.call(),
          },
          teardown: () => closeAll(ours, bare, worker, driver, inProcess),
        }
      },
    },
    {
      name: 'isolated call, 1 MiB in shared memory',
      unit: 'ns',
      target: { 'koffi, seqpacket': 1, 'worker, Atomics.wait': 2 },
      setup: async () => {
        const [ours, bare] = [await openIsolated('touch_pages', MIB), await openBare(MIB)]
        const worker = await openWorker(MIB)
        return {
          ours: () => [ours.call()],
          peers: {
            'koffi, seqpacket': () => [bare.call()],
            'worker, Atomics.wait': () => [worker.call()],
          },
          teardown: () => closeAll(ours, bare, worker),
        }
      },
    },
    {
      name: 'isolated call, 64 MiB that the kernel does not read',
      unit: 'ns',
      target: { 'koffi, seqpacket': 1, '4 KiB': 1.2 },
      setup: async () => {
        const [ours, small] = [
          await openIsolated('read_nothing', 64 * MIB),
          await openIsolated('read_nothing', 4 * KIB),
        ]
        const bare = await openBare(64 * MIB, 0)
        return {
          ours: () => ({ answer: ours.call() }),
          peers: {
            'koffi, seqpacket': () => ({ answer: bare.call() }),
            '4 KiB': () => ({ answer: small.call() }),
          },
          teardown: () => closeAll(ours, small, bare),
        }
      },
    },
    // A row of its own: the garbage that these copies leave is collected in whichever turn comes next.
    {
      name: 'isolated call, 64 MiB in shared memory or through a pipe',
      unit: 'ns',
      target: { 'child_process, advanced': 1 / 100 },
      setup: async () => {
        const [ours, ipc] = [await openIsolated('touch_pages', 64 * MIB), await openChildProcess(64 * MIB)]
        return {
          ours: () => ({ call: ours.call() }),
          peers: { 'child_process, advanced': () => ipc.call() },
          teardown: () => closeAll(ours, ipc),
        }
      },
    },
    {
      name: 'isolated call, 1,000 shapes in turn',
      unit: 'ns',
      target: { 'one shape': 1.5 },
      setup: async () => {
        const [ours, one] = [await openShapes(1000), await openShapes(1)]
        return {
          ours: () => ours.call(),
          peers: { 'one shape': () => one.call() },
          teardown: () => closeAll(ours, one),
        }
      },
    },
    {
      name: 'isolated call of the event loop, 4 KiB',
      unit: 'ns',
      target: { 'driver, runAsync': 0.7, 'net, doorbell': 1, 'child_process, advanced': 0.7 },
      setup: async () => {
        const [ours, driver] = [await openIsolated('touch_pages', 4 * KIB), await openPools(4 * KIB)]
        const [bare, ipc] = [await openDoorbell(4 * KIB), await openChildProcess(4 * KIB)]
        return {
          ours: () => ours.callAsync(),
          peers: {
            'driver, runAsync': () => driver.callAsync(),
            'net, doorbell': async () => bare.call(),
            'child_process, advanced': async () => ipc.call(),
          },
          teardown: () => closeAll(ours, driver, bare, ipc),
        }
      },
    },
    {
      name: 'start of a worker, the first call, and its end',
      unit: 'ms',
      target: { 'driver process': 0.25, 'node -e 0': 0.6 },
      setup: () => ({
        ours: async () => {
          const library = await Library.isolate(PAGES)
          library.kernel('touch_pages')(tensor('uint8', [16]))
          await library.closeAsync()
        },
        peers: {
          'driver process': async () => {
            const driver = await spawnDriver({ command: [process.execPath, script, 'driver'] })
            await driver.closeAsync()
          },
          'node -e 0': () => void spawnSync(process.execPath, ['-e', '0'], { stdio: 'ignore' }),
          'thread of worker_threads': async () => {
            const worker = new Worker('', { eval: true })
            await once(worker, 'exit')
          },
        },
      }),
    },
  ],
} satisfies Suite

async function closeAll(...opened: readonly { readonly close: () => Promise<void> }[]): Promise<void> {
  for (const one of opened) await one.close()
}
