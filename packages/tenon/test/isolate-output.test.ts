import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { type FaultyCall, type FaultyReport } from './isolation/folder-client.ts'
import { fixture, runClient } from './isolation/run-client.ts'

/** The numbers of faults, as in csrc/fixture/faulty/faults.h. */
const [ABORT, OUTPUT] = [2, 20]

async function call(given: Omit<FaultyCall, 'library'>): Promise<FaultyReport & { stdout: string; stderr: string }> {
  const argument = { library: fixture('faulty'), ...given }
  const { code, stdout, stderr } = await runClient('./folder-client.ts', argument, { timeout: 30_000 })
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' })
  const lines = stdout.trimEnd().split('\n')
  const report = JSON.parse(lines.pop()!) as FaultyReport
  return { ...report, stdout: lines.join('\n'), stderr }
}

// Workers need Linux.
if (process.platform === 'linux') {
  describe('output', () => {
    test("'inherit' is that of this process", async () => {
      const { name, output, stdout, stderr } = await call({ fault: OUTPUT, options: { output: 'inherit' } })
      expect({ name, output }).toEqual({ name: 'none', output: '' })
      // 63 of each 64 bytes of a MiB.
      expect(stdout.split('\n')).toHaveLength(16_384)
      expect(stderr.split('\n')).toHaveLength(16_385)
      expect(stderr.startsWith('!')).toBe(true)
    })

    test.each(['capture', 'ignore'] as const)("'%s' leaves that of this process alone", async (output) => {
      const { name, stdout, stderr } = await call({ fault: OUTPUT, options: { output } })
      expect({ name, stdout, stderr }).toEqual({ name: 'none', stdout: '', stderr: '' })
    })
  })

  // Elsewhere a program takes the core files, or they have names of their own.
  if (readFileSync('/proc/sys/kernel/core_pattern', 'utf8').trim() === 'core') {
    describe('core files', () => {
      test('are written with coreDumps alone, and named by the error', async () => {
        const { name, coreFile, magic, files } = await call({ fault: ABORT, options: { coreDumps: true } })
        expect(name).toBe('KernelCrashError')
        expect(files).toEqual([coreFile])
        expect(coreFile).toMatch(/^core(\.\d+)?$/)
        expect(magic).toBe('\u007fELF')
        expect(await call({ fault: ABORT, options: {} })).toMatchObject({ name: 'KernelCrashError', files: [] })
      })

      test.each(['folder', 'old file'] as const)('are not taken for those of other crashes: %s', async (before) => {
        const report = await call({ fault: ABORT, options: { coreDumps: false }, before })
        expect(report).toMatchObject({ name: 'KernelCrashError', files: ['core'] })
        expect(report.coreFile).toBeUndefined()
        const dumped = await call({ fault: ABORT, options: { coreDumps: true }, before })
        expect([undefined, '\u007fELF']).toContain(dumped.magic)
      })
    })
  }
}
