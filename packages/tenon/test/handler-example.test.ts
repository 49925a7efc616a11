import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { tensor, writeNpy } from '../src/index.ts'
import { runTenon } from './run-tenon.ts'

const header = fileURLToPath(new URL('../../core/include/tenon/xla_handler.h', import.meta.url))
/** The first comment of the header, as text. */
const comment = readFileSync(header, 'utf8')
  .split('*/')[0]!
  .split('\n')
  .map((line) => line.replace(/^ \* ?/, ''))
  .join('\n')
const source = /^ {2}#include[^]*?^ {2}TN_XLA_MARK_TYPED.*$/m.exec(comment)![0].replaceAll(/^ {2}/gm, '')
const command = /^ {2}gcc (.*) scale\.c (.*)$/m.exec(comment)!
const call = /^ {2}tenon (call .*)$/m.exec(comment)![1]!

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-handler-'))
  writeNpy(join(directory, 'x.npy'), tensor('f32', [2, 4], [1, 2, 3, 4, 5, 6, 7, 8]))
})
afterAll(() => rmSync(directory, { recursive: true }))

const strict = ['-Wall', '-Wextra', '-Werror']
const [cc, cxx] = [process.env['CC'] ?? 'cc', process.env['CXX'] ?? 'c++']

test.each([
  [cc, 'scale.c', []],
  [cc, 'scale.c', ['-std=c11', ...strict]],
  [cxx, 'scale.cc', []],
  [cxx, 'scale.cc', ['-std=c++20', ...strict]],
])('the example in xla_handler.h compiles and runs unchanged: %s %s %j', (compiler, file, more) => {
  writeFileSync(join(directory, file), source)
  const [, before, after] = command as unknown as [string, string, string]
  const flags = before.replace('packages/core/include', join(header, '../..')).split(' ')
  execFileSync(compiler, [...more, ...flags, file, ...after.split(' ')], { cwd: directory })

  const inspected = runTenon(['inspect', 'libscale.so'], { cwd: directory })
  expect(inspected.stdout).toContain('custom calls\n  scale  typed\n')

  const words = call.split(' ').map((word) => word.replaceAll("'", ''))
  expect(runTenon(words, { cwd: directory })).toEqual({
    code: 0,
    stdout: '[[ 2.  4.  6.  8.]\n [10. 12. 14. 16.]]\n',
    stderr: '',
  })
})

test('the hint names the mangled symbol of a C++ function without TN_XLA_EXPORT', () => {
  writeFileSync(join(directory, 'plain.cc'), source.replace('TN_XLA_EXPORT ', '').replace(/^TN_XLA_MARK.*$/m, ''))
  execFileSync(cxx, ['-shared', '-fPIC', '-I', join(header, '../..'), '-o', 'libplain.so', 'plain.cc'], {
    cwd: directory,
  })
  const { code, stderr } = runTenon(['call', 'libplain.so', 'scale', '--attr', 'a=f32:2'], { cwd: directory })
  expect(code).toBe(1)
  expect(stderr).toMatch(
    /does not export a symbol named "scale"\nhint: Declare it extern "C" .*because C\+\+ exports it as _Z5scaleP/,
  )
})
