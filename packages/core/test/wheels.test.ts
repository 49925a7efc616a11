import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LoadError, NativeLibrary } from '@tenon/core'
import { afterAll, beforeAll, expect, test } from 'vitest'

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-wheels-'))
})
afterAll(() => rmSync(directory, { recursive: true }))

function compile(name: string, source: string, ...flags: string[]): string {
  const path = join(directory, name)
  writeFileSync(`${path}.c`, source)
  execFileSync(process.env['CC'] ?? 'cc', ['-shared', '-fPIC', '-o', path, `${path}.c`, ...flags])
  return path
}

function refusal(open: () => unknown): LoadError {
  try {
    open()
  } catch (error) {
    expect(error).toBeInstanceOf(LoadError)
    return error as LoadError
  }
  throw new Error('it was opened')
}

if (process.platform === 'linux') {
  test('the error for a handler with hidden visibility says how to export it', () => {
    const source = 'void *Norm(void *frame) { return frame; }'
    const library = NativeLibrary.open(compile('libhidden.so', source, '-fvisibility=hidden'))
    expect(refusal(() => library.symbol('Norm'))).toMatchObject({
      sentence: expect.stringContaining('does not export a symbol named "Norm"') as string,
      hint: expect.stringMatching(/^Norm was built with hidden visibility.*TN_XLA_EXPORT/) as string,
    })
    const stripped = NativeLibrary.open(compile('libstripped.so', source, '-fvisibility=hidden', '-s'))
    expect(refusal(() => stripped.symbol('Norm')).hint).toContain('default visibility')
  })

  test('the error for a library that needs symbols of Python names one of them', () => {
    const source = 'extern void *PyExc_ValueError;\nvoid *error(void) { return PyExc_ValueError; }'
    const error = refusal(() => NativeLibrary.open(compile('libpython.so', source)))
    expect(error.sentence).toMatch(
      /needs PyExc_ValueError of Python, which this process does not have: .*undefined symbol/,
    )
    expect(error.hint).toContain('does not use Python')
  })

  test('a library with a weak symbol of Python, or with an unrelated one, is explained otherwise', () => {
    const weak = 'extern void *PyExc_ValueError __attribute__((weak));\nvoid *error(void) { return &PyExc_ValueError; }'
    NativeLibrary.open(compile('libweak.so', weak)).close()
    const other = 'extern int Pylon_open;\nint *open_(void) { return &Pylon_open; }'
    expect(refusal(() => NativeLibrary.open(compile('libother.so', other))).sentence).toContain('could not be loaded')
  })
}
