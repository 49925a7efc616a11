import { packageFlags } from '@tenon/config/package-flags'
import { isSanitized } from '@tenon/config/sanitizer'
import { runScript } from '@tenon/core/testing'
import { expect, test } from 'vitest'
import { MemorySegment, NativeScope, ResourceScope } from '../src/index.ts'
import { packageDirectory } from './support/worker.ts'

/** Runs a script in a process of its own. @returns the number that it prints. */
async function measure(code: string): Promise<number> {
  const result = await runScript(
    `import { MemorySegment, NativeScope, ResourceScope } from '@tenon/scope'
     ${code}`,
    {
      cwd: packageDirectory,
      nodeOptions: [...packageFlags, '--expose-gc', '--disable-warning=ExperimentalWarning'],
      timeout: 120_000,
    },
  )
  expect(result.code, result.stderr).toBe(0)
  return Number(result.stdout)
}

/** The growth of the resident memory of a process that runs the script, in MiB. */
function growth(warmup: string, work: string): Promise<number> {
  return measure(
    `const settle = async () => { for (let i = 0; i < 5; i++) { gc(); await new Promise((resolve) => setTimeout(resolve, 5)) } }
     ${warmup}
     await settle()
     const before = process.memoryUsage.rss()
     ${work}
     await settle()
     console.log((process.memoryUsage.rss() - before) / 2 ** 20)`,
  )
}

/** The highest resident memory of a process that runs the script, in MiB. */
function peak(work: string): Promise<number> {
  return measure(`${work}\nconsole.log(process.resourceUsage().maxRSS / 1024)`)
}

test('stats() returns to its start after thousands of scopes', () => {
  const before = ResourceScope.stats()
  for (let i = 0; i < 3000; i++) {
    const scopes = [NativeScope.ofConfined(), NativeScope.ofShared(), ResourceScope.ofConfined()]
    for (const scope of scopes) MemorySegment.allocateNative(16 + (i & 1023), 16, scope).setUint8(0, 1)
    for (const scope of scopes) scope.close()
  }
  const { openScopes, liveBytes, holds } = ResourceScope.stats()
  expect([openScopes, liveBytes, holds]).toEqual([before.openScopes, before.liveBytes, before.holds])
})

// AddressSanitizer keeps freed memory for a while.
if (!isSanitized)
  test('a million scopes do not leak memory', { timeout: 180_000 }, async () => {
    const cycle = (times: number): string => `
    for (let i = 0; i < ${times}; i++) {
      const scope = NativeScope.ofConfined()
      scope.allocate(16 + (i & 1023)).setUint8(0, 1)
      scope.close()
    }`
    expect(await growth(cycle(10_000), cycle(1_000_000))).toBeLessThan(64)
  })

if (!isSanitized)
  test('10 000 implicit segments of 64 KiB are freed during the loop', { timeout: 180_000 }, async () => {
    const loop = (body: string): string => `for (let i = 0; i < 10_000; i++) ${body}`
    // The loop allocates 625 MiB. The time of a collection depends on the machine and its load, also for bare buffers.
    const [bare, ours] = await Promise.all([
      peak(loop('new Uint8Array(new ArrayBuffer(64 * 1024))[0] = 1')),
      peak(loop('MemorySegment.allocateNative(64 * 1024).setUint8(0, 1)')),
    ])
    expect(ours).toBeLessThan(2 * bare + 128)
  })

if (!isSanitized)
  test('memory that was posted to other threads is freed when nobody has it', { timeout: 180_000 }, async () => {
    const round = (count: number): string => `
    for (let i = 0; i < ${count}; i++) {
      const sizes = [64, 64 * 1024]
      for (const size of sizes) {
        const segment = MemorySegment.allocateNative(size).fill(1)
        structuredClone(segment.share())
        segment.view().setInt8(0, 2)
      }
      if (i % 100 === 0) await settle()
    }`
    expect(await growth(round(200), round(8000))).toBeLessThan(128)
  })

if (!isSanitized)
  test('large chunks are returned to the system at close', { timeout: 180_000 }, async () => {
    const work = `
    for (let i = 0; i < 3; i++) {
      const scope = NativeScope.ofConfined()
      scope.allocate(256 * 2 ** 20).fill(1)
      scope.close()
    }`
    expect(await growth('', work)).toBeLessThan(64)
  })
