import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const files = [
  ...globSync('test/*.test.ts', { cwd: root }),
  ...globSync('../core/csrc/test/tvm/*_test.c', { cwd: root }),
]
const named = new Set(
  files.flatMap((file) =>
    [
      ...readFileSync(`${root}/${file}`, 'utf8').matchAll(/\brules? (\d+)(?: and (?:rule )?(\d+))?|_rule_(\d+)_/g),
    ].flatMap(([, first, second, inC]) => [first, second, inC].filter((text) => text !== undefined).map(Number)),
  ),
)

/** The text of the rules by number. */
const rules = new Map(
  [...readFileSync(`${root}/RULES.md`, 'utf8').matchAll(/^(\d+)\. (.+)$/gm)].map(([, n, text]) => [Number(n), text!]),
)

/** The rules without a test, which give the reason: they concern code that is compiled into C++ kernels. */
const elsewhere = new Set([27, 50, 51])

it('the rules are numbered 1 to 53', () => {
  expect([...rules.keys()]).toEqual(Array.from({ length: 53 }, (_, i) => i + 1))
})

it.each([...rules])('rule number %i has a test or a reason not to have one: %s', (rule, text) => {
  const reason = /_Not here_: .{10,}/.test(text)
  expect(reason).toBe(elsewhere.has(rule))
  expect(named.has(rule)).toBe(!reason)
})
