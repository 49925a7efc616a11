import { isSanitized } from '@tenon/config/sanitizer'
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

test('the program shows a crash in process and isolated, and recovers', () => {
  const program = fileURLToPath(new URL('../src/main.ts', import.meta.url))
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', program], {
    encoding: 'utf8',
  })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout.trim().split('\n')).toEqual([
    'in process:  the token 2000000000 ends the process with SIGSEGV',
    'isolated:    the same rows: true, 8 bytes copied for a table of 30720000',
    // The sanitizer may find the access before the processor does.
    expect.stringMatching(
      isSanitized ? /^crashing: {4}lookup crashed: SIG(SEGV|ABRT)/ : /^crashing: {4}lookup crashed: SIGSEGV/,
    ),
    expect.stringMatching(/^recovering: {2}the next call is right: true \(/),
    expect.stringMatching(/^guarded: {5}lookup crashed: SIGSEGV reading .*operand 0/),
  ])
})
