import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'

import { CompilerError, HeadersProblem, type Model, readModel, writeModule } from '../src/index.ts'

const directory = mkdtempSync(join(tmpdir(), 'tenon-bind-hostile-'))
afterAll(() => rmSync(directory, { recursive: true }))

let count = 0
function read(text: string, timeout?: number): Promise<Model> {
  const path = join(directory, `${count++}.h`)
  writeFileSync(path, text)
  return readModel([path], timeout === undefined ? {} : { timeout })
}

const lines = (length: number, write: (i: number) => string): string =>
  Array.from({ length }, (_, i) => write(i)).join('\n')

describe('a header that is made to break the reader', () => {
  test('ends with an error if a macro expands without end', async () => {
    const bomb = `#define X0 1 + 1\n${lines(60, (i) => `#define X${i + 1} X${i} + X${i}`)}\n`
    await expect(read(bomb, 500)).rejects.toThrow(CompilerError)
    await expect(read(bomb, 500)).rejects.toThrow(
      /did not end within 0\.5 s: a macro of the headers may expand without end/,
    )
  })

  test.each([
    ['parentheses', `int ${'('.repeat(5000)}x${')'.repeat(5000)};`],
    ['pointers', `int ${'*'.repeat(5000)}x;`],
    ['arrays', `extern int x${'[1]'.repeat(5000)};`],
  ])('is refused for too many levels of %s', async (_, text) => {
    await expect(read(text)).rejects.toThrow(HeadersProblem)
    await expect(read(text)).rejects.toThrow('expected at most 200 levels')
  })

  test('is refused for too many levels of structs and parameters', async () => {
    const structs = `${'struct { int a; '.repeat(220)}${'} s; '.repeat(219)}} x;`
    await expect(read(structs)).rejects.toThrow(/at most 200 levels|cannot read the headers/)
    const parameters = `void f(${'int (*a)('.repeat(220)}int${')'.repeat(220)});`
    await expect(read(parameters)).rejects.toThrow(/at most 200 levels|cannot read the headers/)
  })

  test('is read in time although types contain each other many times over', async () => {
    const functions = `typedef void (*f0)(int);\n${lines(60, (i) => `typedef void (*f${i + 1})(f${i}, f${i}, f${i});`)}\nvoid use(f60 f);`
    const model = await read(functions)
    expect(writeModule(model, { libraries: [] }).code).toContain('function use(f)')
    const structs = `struct s0 { int a; };\n${lines(28, (i) => `struct s${i + 1} { struct s${i} a, b; };`)}\nvoid use(struct s28 *s); void give(struct s20 s);`
    const { code } = writeModule(await read(structs), { libraries: [] })
    expect(code).toContain(`class s28 extends Struct {\n  static byteSize = ${4 * 2 ** 28}`)
  })
})
