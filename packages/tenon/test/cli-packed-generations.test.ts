import { kernelLibrary } from '@tenon/kernels'
import { describe, expect, test } from 'vitest'
import { runTenon } from './run-tenon.ts'

/** A library with an embedded module for each generation of compilers, and the name that `inspect` prints for it. */
const generations = [
  ['packed_embedded_legacy', 'TVM to 0.20'],
  ['packed_embedded_021', 'TVM 0.21'],
  ['packed_embedded_022', 'tvm-ffi, TVM 0.22 to 0.25'],
  ['packed_embedded_026', 'tvm-ffi, TVM 0.26 or newer'],
] as const

describe.each(generations)('%s', (name, generation) => {
  const library = kernelLibrary(name)

  test('can be called', () => {
    expect(runTenon(['call', library, 'add_setting', '--arg', 'int:2'])).toEqual({
      code: 0,
      stdout: '42\n',
      stderr: '',
    })
    const { stdout } = runTenon(['call', library, 'add_setting', '--arg', 'int:2', '--json'])
    expect(JSON.parse(stdout)).toMatchObject({ convention: 'packed', generation, value: 42 })
  })

  test('can be inspected', () => {
    const { code, stdout } = runTenon(['inspect', library])
    expect(code).toBe(0)
    expect(stdout).toContain('add_setting')
    expect(stdout).toContain(generation)
  })
})

test('calls a C++ function, and reports the error that it throws', () => {
  const library = kernelLibrary('packed_cpp')
  expect(runTenon(['call', library, 'greet', '--arg', 'str:you'])).toEqual({
    code: 0,
    stdout: 'Hello, you!\n',
    stderr: '',
  })
  const { code, stderr } = runTenon(['call', library, 'greet', '--arg', 'int:1'])
  expect(code).not.toBe(0)
  expect(stderr).toContain('a name must be text')
})
