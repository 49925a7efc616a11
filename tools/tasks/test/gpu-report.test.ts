import { expect, test } from 'vitest'
import { neverRun, reportOf, wasRun } from '../src/lib/gpu-report.ts'

test('neverRun() states the reason why there was no run', () => {
  const report = neverRun('2026-11-21', 'libcuda.so.1: cannot open shared object file')
  expect(wasRun(report)).toBe(false)
  expect(report).toContain('Not yet run on real hardware')
  expect(report).toContain('2026-11-21')
  expect(report).toContain('    libcuda.so.1: cannot open shared object file')
})

test('reportOf() names the device and counts the passed tests', () => {
  const report = reportOf({
    date: '2027-01-02',
    machine: 'linux 6.1 x64, Node 24.21.0',
    gpu: { version: '13.0', devices: [{ name: 'NVIDIA H200', computeCapability: '9.0', bytes: 139 * 2 ** 30 }] },
    files: [
      { assertionResults: [{ fullName: 'copies', status: 'passed' }] },
      { assertionResults: [{ fullName: 'a | b', status: 'failed' }] },
    ],
  })
  expect(wasRun(report)).toBe(true)
  expect(report).toContain('2027-01-02, 1 passed, 1 failed. CUDA 13.0')
  expect(report).toContain('- NVIDIA H200, compute capability 9.0, 139 GiB')
  expect(report).toContain('| a \\| b | failed |')
})
