import type { Suite } from '@tenon/bench'
import { openChildProcess } from './node-transports.ts'
import { openBare, openDoorbell, openPools } from './round-trip.ts'

const [KIB, MIB] = [1024, 2 ** 20]

export const suite = {
  package: '@tenon/pools',
  rows: [
    {
      name: 'round trip, 4 KiB in a registered pool',
      unit: 'ns',
      target: { 'koffi, seqpacket': 1.5 },
      setup: async () => {
        const [ours, bare] = [await openPools(4 * KIB), await openBare(4 * KIB)]
        return {
          ours: () => ours.call(),
          peers: { 'koffi, seqpacket': () => bare.call() },
          teardown: () => closeAll(ours, bare),
        }
      },
    },
    {
      name: 'round trip, 1 MiB in a registered pool',
      unit: 'ns',
      target: { 'koffi, seqpacket': 1.5, '4 KiB': 1.3 },
      setup: async () => {
        const [ours, small, bare] = [await openPools(MIB), await openPools(4 * KIB), await openBare(MIB)]
        return {
          ours: () => [ours.call()],
          peers: { 'koffi, seqpacket': () => [bare.call()], '4 KiB': () => [small.call()] },
          teardown: () => closeAll(ours, small, bare),
        }
      },
    },
    {
      name: 'round trip, 64 MiB in a registered pool',
      unit: 'ns',
      target: { 'koffi, seqpacket': 1.5 },
      setup: async () => {
        const [ours, bare] = [await openPools(64 * MIB), await openBare(64 * MIB)]
        return {
          ours: () => ({ answer: ours.call() }),
          peers: { 'koffi, seqpacket': () => ({ answer: bare.call() }) },
          teardown: () => closeAll(ours, bare),
        }
      },
    },
    // A row of its own: the garbage that these copies leave is collected in whichever turn comes next.
    {
      name: 'round trip, 64 MiB in a registered pool or through a pipe',
      unit: 'ns',
      target: { 'child_process, advanced': 1 / 300 },
      setup: async () => {
        const [ours, ipc] = [await openPools(64 * MIB), await openChildProcess(64 * MIB)]
        return {
          ours: () => ({ call: ours.call() }),
          peers: { 'child_process, advanced': () => ipc.call() },
          teardown: () => closeAll(ours, ipc),
        }
      },
    },
    {
      name: 'round trip, 64 MiB with the copy of the producer',
      unit: 'ns',
      target: { 'child_process, advanced': 1 / 10 },
      setup: async () => {
        const [ours, ipc] = [await openPools(64 * MIB), await openChildProcess(64 * MIB)]
        return {
          ours: () => ours.callWithCopy(),
          peers: { 'child_process, advanced': () => ipc.callWithCopy() },
          teardown: () => closeAll(ours, ipc),
        }
      },
    },
    {
      name: 'round trip of the event loop, 4 KiB',
      unit: 'ns',
      target: { 'net, doorbell': 1.5 },
      setup: async () => {
        const [ours, bare] = [await openPools(4 * KIB), await openDoorbell(4 * KIB)]
        return {
          ours: () => ours.callAsync(),
          peers: { 'net, doorbell': async () => bare.call() },
          teardown: () => closeAll(ours, bare),
        }
      },
    },
  ],
} satisfies Suite

async function closeAll(...transports: readonly { readonly close: () => Promise<void> }[]): Promise<void> {
  for (const transport of transports) await transport.close()
}
