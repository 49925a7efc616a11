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

/** The exports of a module whose functions return what they were linked with. */
async function load(model: Model): Promise<Record<string, (...values: unknown[]) => unknown>> {
  const { code } = writeModule(model, { libraries: [] })
  const stubs = `
    class Struct { static at(value) { return [this, value] } }
    const members = { layoutOf: (type, get) => Object.entries(get()) }
    const NativeModule = { of: () => ({ link: (name, signature) => (...values) => ({ name, signature, values }) }) }`
  const text = code.replace(/^import .*$/m, stubs)
  return (await import(`data:text/javascript,${encodeURIComponent(text)}`)) as never
}

describe('a header whose names are those of a module', () => {
  test('has parameters that hide no type or function', async () => {
    const bound = await load(
      await read(`
        typedef struct point { int x; int y; } point;
        int shadow(point point);
        point made(int allocator);
        int restful(int rest, ...);
        int own(int $own);
        int $foo(int a);
        int foo(int a);
        int $$status(int a);`),
    )
    const layout = [
      ['x', [0, 'int32']],
      ['y', [4, 'int32']],
    ]
    expect(bound['shadow']!(1)).toEqual({
      name: 'shadow',
      signature: { result: 'int32', parameters: [layout] },
      values: [1],
    })
    expect(bound['made']!(1, 2)).toMatchObject([bound['point'], { signature: { result: layout }, values: [1, 2] }])
    expect(bound['restful']!(1, 2, 3)).toMatchObject({ values: [1, 2, 3] })
    expect(bound['own']!(1)).toMatchObject({ name: 'own', values: [1] })
    expect([bound['foo']!(1), bound['_$foo']!(1)]).toMatchObject([{ name: 'foo' }, { name: '$foo' }])
  })

  test('has a function named then, whose module can be imported', async () => {
    const bound = await load(await read('int then(int a);'))
    expect(bound['then_']!(1)).toMatchObject({ name: 'then' })
  })

  test('has members named __proto__', async () => {
    const bound = await load(await read('struct odd { int __proto__; int x; }; int use(struct odd o);'))
    expect(bound['use']!(1)).toMatchObject({
      signature: {
        parameters: [
          [
            ['__proto__', [0, 'int32']],
            ['x', [4, 'int32']],
          ],
        ],
      },
    })
  })

  test('adds no code by the label of a symbol or the name of a file', async () => {
    const symbol = `x', {}); globalThis.isAttacked = true; ('`
    const bound = await load(await read(`int labelled(int a) __asm__("${symbol}");`))
    expect(bound['labelled']!(1)).toMatchObject({ name: symbol })
    const path = join(directory, 'a\u2028globalThis.isAttacked = true;.h')
    writeFileSync(path, 'int named(int a);')
    expect((await load(await readModel([path])))['named']!(1)).toMatchObject({ name: 'named' })
    expect(globalThis).not.toHaveProperty('isAttacked')
  })
})
