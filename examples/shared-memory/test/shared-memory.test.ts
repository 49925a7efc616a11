import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

const hasPython = spawnSync('python3', ['-c', 'import socket; socket.recv_fds']).status === 0

test.runIf(process.platform === 'linux' && hasPython).each([
  ['with the packages that are installed', {}],
  // Python without numpy and everything else outside of the standard library.
  ['with the standard library alone', { PYTHONNOUSERSITE: '1', PYTHONPATH: at('./without-numpy') }],
])('a program in Python reads and writes tensors of a program in TypeScript, %s', (_, env) => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', at('../src/main.ts')],
    { encoding: 'utf8', env: { ...process.env, ...env } },
  )
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout.trim().split('\n')).toEqual([
    'python: wrote 6 square roots to roots',
    'typescript: reads [[1,2,3],[4,5,6]]',
  ])
})

test.runIf(process.platform === 'linux' && hasPython)('memory that a program in Python makes is a pool', () => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', at('../src/camera.ts')],
    { encoding: 'utf8' },
  )
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout.trim().split('\n')).toEqual([
    'python: listens',
    'typescript: reads 4 x 2 pixels, the last is 7',
    'python: reads [255, 254, 253, 252, 251, 250, 249, 248]',
  ])
})

test('the program in Python has at most 70 lines', () => {
  expect(readFileSync(at('../src/client.py'), 'utf8').trimEnd().split('\n').length).toBeLessThanOrEqual(70)
})
