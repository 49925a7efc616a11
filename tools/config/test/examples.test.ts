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
  'const x = 1 // 2',
  "JSON.parse('{') // throws SyntaxError: at the end",
  'await Promise.reject(new RangeError()) // throws RangeError',
  'let list: number = 5\nlist // 5',
])('runExample() accepts %s', async (code) => {
  await expect(run(code)).resolves.toBeUndefined()
})

test.each([
  ['1 + 1 // 3', /expected 2 to deeply equal 3/],
  ["f('a') // true", /to deeply equal true/],
  ['f(1) // throws TypeError', /it should throw TypeError/],
  ["import { f } from 'two'", /the test does not provide two, which the example imports/],
  ['nothing()', /nothing is not defined/],
])('runExample() refuses %s', async (code, message) => {
  await expect(run(code)).rejects.toThrow(message)
})

test('runExample() disposes resources of `using` at the end, on every Node.js', async () => {
  const closed: string[] = []
  const open = (name: string): Disposable => ({ [Symbol.dispose]: () => void closed.push(name) })
  await runExample("using a = open('a')\nusing b = open('b')\na !== b // true", { modules: { one: { open } } })
  expect(closed).toEqual(['b', 'a'])
})
