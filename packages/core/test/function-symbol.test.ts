import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { ArgumentError, LoadError, NativeLibrary } from '@tenon/core'

const directory = mkdtempSync(join(tmpdir(), 'tenon-symbols-'))
afterAll(() => rmSync(directory, { recursive: true }))

const source = `
  int variable = 1, zero, table[4096];
  const int constant = 2;
  const char text[] = "text";
  __thread int local = 3;
  __thread int zero_local;
  int *pointer = &variable;
  __attribute__((aligned(64))) const unsigned char code[] = {0xc3, 0xc3, 0xc3, 0xc3};
  int function(void) { return 7; }
  __attribute__((weak)) int weak(void) { return 8; }
  int alias(void) __attribute__((alias("function")));
  static int (*resolve(void))(void) { return function; }
  int indirect(void) __attribute__((ifunc("resolve")));
  __asm__(".globl untyped\\n.data\\nuntyped: .quad 0\\n.text");
`
const DATA = ['variable', 'zero', 'table', 'constant', 'text', 'local', 'zero_local', 'pointer', 'code', 'untyped']
const FUNCTIONS = { function: 7, weak: 8, alias: 7, indirect: 7 }

function compile(name: string, flags: readonly string[]): NativeLibrary {
  const [path, file] = [join(directory, `${name}.so`), join(directory, `${name}.c`)]
  writeFileSync(file, source)
  execFileSync(process.env['CC'] ?? 'cc', ['-shared', '-fPIC', '-o', path, file, ...flags])
  return NativeLibrary.open(path)
}

describe.each([
  ['as usual', []],
  ['with code and constants in one segment', ['-Wl,-z,noseparate-code']],
  ['stripped', ['-s']],
])('a library that was linked %s', (title, flags) => {
  const library = compile(title.replaceAll(' ', '-'), flags)

  test.each(DATA)('has the variable %s, which is not called', (name) => {
    const call = (): unknown => library.function(name, { result: 'int32', parameters: [] })
    expect(call).toThrow(ArgumentError)
    expect(call).toThrow(`${name} must be a function, got data`)
    expect(library.has(name)).toBe(true)
    expect(library.symbol(name)).toBeGreaterThan(0n)
  })

  test.each(Object.entries(FUNCTIONS))('has the function %s', (name, result) => {
    expect(library.function(name, { result: 'int32', parameters: [] })()).toBe(result)
  })

  test('does not export other names', () => {
    expect(() => library.functionAddress('resolve')).toThrow(LoadError)
    expect(() => library.functionAddress('')).toThrow(ArgumentError)
  })
})

test('variables of the C library are not called', () => {
  for (const name of ['environ', 'stdout']) {
    expect(() => NativeLibrary.ofProcess().function(name, {})).toThrow(`${name} must be a function, got data`)
    expect(() => NativeLibrary.open('libc.so.6').function(name, {})).toThrow(`${name} must be a function, got data`)
  }
})
