import { runScript } from '@tenon/core/testing'
import { expect, test } from 'vitest'
import { packageDirectory } from './support/worker.ts'

/** How much the resident memory of a process of its own grows, in MiB. */
async function growth(warmup: string, work: string): Promise<number> {
  const { code, stdout, stderr } = await runScript(
    `import { MemorySegment, NativeScope, ResourceScope } from '@tenon/scope'
     const settle = async () => { for (let i = 0; i < 5; i++) { gc(); await new Promise((resolve) => setTimeout(resolve, 5)) } }
     ${warmup}
     await settle()
     const before = process.memoryUsage.rss()
     ${work}
     await settle()
     console.log((process.memoryUsage.rss() - before) / 2 ** 20)`,
    {
      cwd: packageDirectory,
      nodeOptions: ['--conditions=@tenon/source', '--expose-gc', '--disable-warning=ExperimentalWarning'],
      timeout: 120_000,
    },
  )
  expect(code, stderr).toBe(0)
  return Number(stdout)
}

/** The sanitizer keeps what is freed for a while. */
const isSanitized = process.env['TENON_VARIANT'] === 'asan'

if (!isSanitized)
  test('a million scopes leave nothing behind', { timeout: 180_000 }, async () => {
    const cycle = (times: number): string => `
    for (let i = 0; i < ${times}; i++) {
      const scope = NativeScope.ofConfined()
      scope.allocate(16 + (i & 1023)).setUint8(0, 1)
      scope.close()
    }`
    expect(await growth(cycle(10_000), cycle(1_000_000))).toBeLessThan(64)
  })

if (!isSanitized)
  test('20 000 implicit segments of 64 KiB in one loop are freed on the way', { timeout: 180_000 }, async () => {
    const loop = (checks: string): string => `{
      let peak = 0
      for (let i = 0; i < 20_000; i++) {
        MemorySegment.allocateNative(64 * 1024).setUint8(0, 1)
        if (i % 1000 === 0) peak = Math.max(peak, process.memoryUsage.rss())
      }
      ${checks}
    }`
    // 1250 MiB are allocated. The allocator of the system keeps some of what it once had: so the second loop is what counts.
    const peakCheck = `if (peak - before > 512 * 2 ** 20) throw new Error('the peak is ' + (peak - before) / 2 ** 20 + ' MiB')`
    expect(await growth(loop(''), loop(peakCheck))).toBeLessThan(256)
  })

if (!isSanitized)
  test('large chunks go back to the system at once', { timeout: 180_000 }, async () => {
    const work = `
    for (let i = 0; i < 50; i++) {
      const scope = NativeScope.ofConfined()
      scope.allocate(256 * 2 ** 20).fill(1)
      scope.close()
    }`
    expect(await growth('', work)).toBeLessThan(64)
  })
