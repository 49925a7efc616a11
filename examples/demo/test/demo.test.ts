import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { checkClose } from '../src/reference.ts'

test('the demo runs, checks its results, and shows failures', () => {
  const script = fileURLToPath(new URL('../src/demo.ts', import.meta.url))
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', script], {
    encoding: 'utf8',
  })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).toContain(' kernels, among them rms_norm (x: f32[..., d]) -> (y: f32[..., d]); eps: f32\n')
  expect(stdout).toContain('[5.100, 3.500, 1.400, 0.200] becomes [1.608, 1.103, 0.441, 0.063]')
  for (const kernel of ['rms_norm', 'broadcast_add', 'do_custom_call']) {
    expect(stdout).toMatch(new RegExp(`\\n {2}${kernel} +\\d\\.\\de[+-]\\d+ .* (ns|us)\\n`))
  }
  expect(stdout).toMatch(/\n {2}add_one on 600 numbers: within \d\.\de[+-]\d+ of/)
  expect(stdout).toContain('an error of a kernel keeps its kind: KeyError, "failed as asked"')
  expect(stdout).toContain('b of broadcast_add must be float32[m], got float32[150, 4]: it has 2 axes, not 1')
  expect(stdout).toContain('fail_with answered RESOURCE_EXHAUSTED: the table is full')
  expect(stdout).toContain('throw_runtime_error threw a C++ exception: thrown in C++')
  // The output fits on one screen.
  expect(stdout.split('\n').length).toBeLessThan(40)
  for (const line of stdout.split('\n')) expect(line.length).toBeLessThan(140)
})

test('checkClose() refuses results that differ', () => {
  expect(checkClose([1, 2], [1, 2.5], 0.5)).toBe(0.5)
  expect(() => checkClose([1, 2], [1, 2.6], 0.5)).toThrow(/differ by/)
  expect(() => checkClose([1], [1, 2], 1)).toThrow(/differ by NaN/)
  expect(() => checkClose([Number.NaN], [1], 1)).toThrow(/differ by NaN/)
})
