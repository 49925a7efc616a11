import { packageFlags } from '@tenon/config/package-flags'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { runScript } from '@tenon/core/testing'

if (process.platform === 'linux')
  test('a library that is cut off at any length is refused, or loads', { timeout: 60_000 }, async () => {
    const script = `
      import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
      import { NativeLibrary } from '@tenon/core'
      const bytes = readFileSync(process.report.getReport().sharedObjects.find((path) => path.includes('/libm.so')))
      const folder = mkdtempSync('/tmp/tenon-cut-off-'), outcomes = new Set()
      const lengths = Array.from({ length: 100 }, (_, i) => Math.floor((bytes.length * i) / 100))
      for (const length of [0, 64, 500, 960, ...lengths, bytes.length - 8]) {
        const path = folder + '/' + length + '.so'
        writeFileSync(path, bytes.subarray(0, length))
        try { NativeLibrary.open(path).close(); outcomes.add('opened') } catch (error) { outcomes.add(error.code) }
      }
      rmSync(folder, { recursive: true })
      console.log([...outcomes].sort().join(' '))
    `
    const cwd = fileURLToPath(new URL('..', import.meta.url))
    const { code, signal, stdout, stderr } = await runScript(script, {
      cwd,
      nodeOptions: [...packageFlags, '--no-warnings'],
    })
    // Without its section table, a library still loads.
    expect({ code, signal, stdout, stderr }).toEqual({
      code: 0,
      signal: null,
      stdout: 'TENON_LOAD opened\n',
      stderr: '',
    })
  })
