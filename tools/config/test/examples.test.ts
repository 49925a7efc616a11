import { expect, test } from 'vitest'

import { runExample } from '../src/examples.ts'

const scope = { modules: { one: { f: (x: number) => x + 1, g: 3 } }, context: () => ({ list: [1, 2] }) }

const run = (code: string): Promise<void> => runExample(code, scope)

test.each([
  '1 + 1 // 2',
  'f(1) // 2',
  'list // [1, 2]',
  "import { f as h } from 'one'\nh(2) // 3",
  "import { f, type T } from 'one'\nconst x: number = f(2)\nx // 3",
  'f(1) // some words that are prose',
  'const x = 1 // some words that are prose',
  "JSON.parse('{') // throws SyntaxError: at the end",
  'await Promise.reject(new RangeError()) // throws RangeError',
  'let list: number = 5\nlist // 5',
  'f(\n  1,\n) // 2',
  "'a // b'.length // 6",
  'for (const x of list) {\n  f(x) > x // true\n}',
  "import * as all from 'one'\nall.g // 3",
  "import type { T } from 'one'\nconst x = 1 as T // 1",
])('runExample() accepts %s', async (code) => {
  await expect(run(code)).resolves.toBeUndefined()
})

test.each([
  ['1 + 1 // 3', /expected 2 to deeply equal 3/],
  ["f('a') // true", /to deeply equal true/],
  ['f(1) // throws TypeError', /it should throw TypeError/],
  ["import { f } from 'two'", /the test does not provide two, which the example imports/],
  ['nothing()', /nothing is not defined/],
  ['const x = 1 // 2', /expected 1 to deeply equal 2/],
  ['f(\n  1,\n) // 3', /expected 2 to deeply equal 3/],
  ['for (const x of list) {\n  f(x) // 2\n}', /expected 3 to deeply equal 2/],
  ['[1].map(() => {\n  f(1) // throws TypeError\n})', /cannot be checked in a function that is not async/],
  ['f(', /Expected|Unexpected/],
])('runExample() refuses %s', async (code, message) => {
  await expect(run(code)).rejects.toThrow(message)
})

test('runExample() disposes resources of `using` at the end, on every Node.js', async () => {
  const closed: string[] = []
  const open = (name: string): Disposable => ({ [Symbol.dispose]: () => void closed.push(name) })
  await runExample("using a = open('a')\nusing b = open(\n  'b',\n)\na !== b // true", { modules: { one: { open } } })
  expect(closed).toEqual(['b', 'a'])
})

test('runExample() disposes resources of nested blocks and of await using where their block ends', async () => {
  const closed: string[] = []
  const open = (name: string): AsyncDisposable & Disposable => ({
    [Symbol.dispose]: () => void closed.push(name),
    [Symbol.asyncDispose]: async () => void closed.push(`later ${name}`),
  })
  const code = "await using a = open('a')\n{\n  using b = open('b')\n}\nclosed // ['b']"
  await runExample(code, { modules: { one: { open } }, context: () => ({ closed }) })
  expect(closed).toEqual(['b', 'later a'])
})
