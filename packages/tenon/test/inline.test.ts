import { join } from 'node:path'
import { expect, test } from 'vitest'
import { compile, CompileError, loadInline } from '../src/entries/build.ts'
import { Library, LoadError, ScopeClosedError, tensor, TenonError } from '../src/index.ts'
import { adding, temporary } from './inline-program.ts'

const slow = { timeout: 120_000 }

test('loadInline() opens the library of a kernel in C and in C++', slow, async () => {
  const cacheDirectory = temporary()
  const source = adding(3)
    .replace('const float *from = x->data', 'const float *from = static_cast<const float *>(x->data)')
    .replace('float *to = y->data', 'float *to = static_cast<float *>(y->data)')
  const libraries = [
    await loadInline(adding(3), { cacheDirectory }),
    await loadInline(source, { cacheDirectory, language: 'c++' }),
    await loadInline(adding(3), { cacheDirectory, variant: 'debug', name: join(import.meta.dirname, 'kernels.ts') }),
  ]
  for (const library of libraries) {
    const add = library.kernel('add')
    expect(library.kernels().map(({ name }) => name)).toEqual(['add'])
    expect(add(tensor([1, 2])).toArray()).toEqual([4, 5])
    library.close()
    expect(() => add(tensor([1]))).toThrow(ScopeClosedError)
  }
})

test('the same source twice is two libraries, which are closed separately', slow, async () => {
  const options = { cacheDirectory: temporary() }
  using first = await loadInline(adding(1), options)
  const second = await loadInline(adding(1), options)
  expect(second.path).toBe(first.path)
  second.close()
  expect(
    first
      .kernel('add')(tensor([1]))
      .toArray(),
  ).toEqual([2])
})

test('a compiled source runs in a process of its own', slow, async () => {
  const headers = join(import.meta.dirname, '../../core/include')
  const { path } = await compile(adding(5), { cacheDirectory: temporary(), includes: [headers] })
  await using library = await Library.isolate(path)
  expect((await library.kernel('add').async(tensor([1, 2]))).toArray()).toEqual([6, 7])
})

test.each<[unknown, unknown]>([
  [undefined, undefined],
  ['', null],
  ['', 'x'],
  ['', { includes: 'x' }],
  ['', { includes: [1] }],
  ['', { langauge: 'c' }],
])('loadInline(%j, %j) is refused', async (source, options) => {
  const error: unknown = await loadInline(source as string, options as object).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(TenonError)
  expect(error).toMatchObject({ code: 'TENON_ARGUMENT' })
})

test('an error of the source is a CompileError, and one of the loader a LoadError', slow, async () => {
  const cacheDirectory = temporary()
  await expect(loadInline('int f(void) {', { cacheDirectory })).rejects.toBeInstanceOf(CompileError)
  // A source that mentions TVM may leave functions undefined.
  const source =
    'int TVMNope(void);\nint f(void);\n__attribute__((visibility("default"))) int f(void) { return TVMNope(); }'
  await expect(loadInline(source, { cacheDirectory })).rejects.toBeInstanceOf(LoadError)
})
