import { existsSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { expect, test } from 'vitest'
import { runTenon } from './run-tenon.ts'

test('tenon include prints the absolute path of the headers, from any directory', () => {
  const { code, stdout, stderr } = runTenon(['include'], { cwd: '/' })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const directory = stdout.trimEnd()
  expect(isAbsolute(directory)).toBe(true)
  for (const name of ['kernel.h', 'signature.h', 'xla_handler.h']) {
    expect(existsSync(join(directory, 'tenon', name)), name).toBe(true)
  }
})

test('tenon include --json prints the same directory', () => {
  const directory = runTenon(['include']).stdout.trimEnd()
  expect(JSON.parse(runTenon(['include', '--json']).stdout)).toEqual({ directory })
})

test('tenon include refuses arguments', () => {
  expect(runTenon(['include', 'x'])).toMatchObject({ code: 2, stdout: '' })
})
