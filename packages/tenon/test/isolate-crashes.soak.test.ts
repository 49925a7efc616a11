import { isSanitized } from '@tenon/config/sanitizer'
import { expect, test } from 'vitest'
import { fixture, runClient } from './isolation/run-client.ts'
import type { CrashReport } from './isolation/crash-client.ts'

const isSoak = process.env['TENON_SOAK'] === '1'
/** `TENON_CRASHES` replaces the number of crashes of a soak. */
const CRASHES = isSoak ? Number(process.env['TENON_CRASHES'] || 10_000) : 100
const WARMUP = isSoak ? 1000 : 150

/** Ten ways to end a process, by their numbers in `csrc/fixture/faulty/faults.h`. */
const faults = {
  SEGV: 1,
  ABORT: 2,
  STACK: 3,
  EXIT: 4,
  EXIT_NOW: 5,
  TRAP: 6,
  KILL: 7,
  THREAD_THROW: 14,
  DIVIDE: 21,
  THREAD_SEGV: 27,
}

const MIB = 2 ** 20

if (process.platform === 'linux')
  test(
    `${CRASHES} crashes leave other workers, descriptors, children and memory alone`,
    { timeout: 4 * 3600e3 },
    async () => {
      const run = { library: fixture('faulty'), crashes: CRASHES, warmup: WARMUP, faults: Object.values(faults) }
      const { code, signal, timedOut, stdout, stderr } = await runClient('./crash-client.ts', run, {
        timeout: 4 * 3600e3,
        // The engine makes the space for new objects larger for minutes, which looks as a leak does.
        nodeOptions: ['--max-semi-space-size=2'],
      })
      expect({ code, signal, timedOut, stderr }).toEqual({ code: 0, signal: null, timedOut: false, stderr: '' })
      const report = JSON.parse(stdout) as CrashReport
      if (isSoak) console.log(JSON.stringify(report))
      expect(report.wrong).toEqual([])
      expect(report.others).toBeGreaterThan(CRASHES)
      expect(report.outcomes).toEqual({ TENON_KERNEL_CRASH: CRASHES + WARMUP })
      const { before, after } = report
      expect(after.descriptors).toBe(before.descriptors)
      expect(after.children).toBe(before.children)
      // The engine maps its heap in pieces of 256 KiB, and the code that it compiles.
      expect(after.mappings).toBeLessThan(before.mappings + 100)
      expect(after.rssAnon).toBeLessThan(before.rssAnon + (isSanitized ? 300 : 10) * MIB)
      expect(after.rssShmem).toBeLessThanOrEqual(before.rssShmem + MIB)
    },
  )
