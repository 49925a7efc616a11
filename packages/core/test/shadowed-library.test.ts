import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'

import { NativeLibrary } from '../src/index.ts'
import { runtime } from '../src/native/runtime.ts'

const directory = mkdtempSync(join(tmpdir(), 'tenon-shadowed-'))
afterAll(() => rmSync(directory, { recursive: true }))

function build(name: string, source: string): string {
  const [path, file] = [join(directory, `lib${name}.so`), join(directory, `${name}.c`)]
  writeFileSync(file, source)
  execFileSync(process.env['CC'] ?? 'cc', ['-shared', '-fPIC', '-o', path, file])
  return path
}

const answer = (path: string, name: string): unknown =>
  NativeLibrary.open(path).function(name, { result: 'int32', parameters: [] })()

if (
  process.platform === 'linux' &&
  'glibcVersionRuntime' in (process.report.getReport() as { header: object }).header
) {
  // Node.js exports the functions of its copies of zlib and libuv.
  test('a library with a function of Node.js calls its own', () => {
    const own = build(
      'own',
      'int zlibCompileFlags(void) { return 41; } int call(void) { return zlibCompileFlags() + 1; }',
    )
    expect(answer(own, 'call')).toBe(42)
  })

  test('a library without one finds the functions of Node.js, as add-ons do', () => {
    const other = build('other', 'unsigned uv_version(void); int is_there(void) { return uv_version() > 0; }')
    expect(answer(other, 'is_there')).toBe(1)
  })

  test('a library that the loader searches for calls its own functions too', () => {
    const path = build(
      'gz',
      'int gzprintf(void *f, const char *s) { return 7; } int print(void) { return gzprintf(0, 0); }',
    )
    const environment = { ...process.env, LD_LIBRARY_PATH: directory }
    const script = `import { NativeLibrary } from '@tenon/core'
      console.log(NativeLibrary.open('libgz.so').function('print', { result: 'int32', parameters: [] })())`
    expect(
      execFileSync(process.execPath, runtime.moduleArguments([], script), { env: environment, encoding: 'utf8' }),
    ).toBe('7\n')
    expect(answer(path, 'print')).toBe(7)
  })

  test('a preloaded allocator keeps its place, so nothing is changed', () => {
    const own = build(
      'beside',
      'int zlibCompileFlags(void) { return 41; } int call(void) { return zlibCompileFlags() == 41; }',
    )
    const allocator = build('allocator', 'int unused;')
    const script = `import { NativeLibrary } from '@tenon/core'
      console.log(NativeLibrary.open(${JSON.stringify(own)}).function('call', { result: 'int32', parameters: [] })())`
    const environment = { ...process.env, LD_PRELOAD: allocator }
    expect(
      execFileSync(process.execPath, runtime.moduleArguments([], script), {
        env: environment,
        encoding: 'utf8',
      }),
    ).toBe('0\n')
  })
}
