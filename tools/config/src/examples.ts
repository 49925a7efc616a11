import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

import { hasImports, toJavaScript, withChecks, withLookUps } from './example-code.ts'

/** The names that the examples of a package may use. */
export interface ExampleScope {
  /** The modules that examples import, by specifier. An example without imports can use all their exports. */
  readonly modules: Readonly<Record<string, object>>
  /** Makes the other names that examples use without declaring them. Called for each example. */
  readonly context?: () => Record<string, unknown>
}

interface Example {
  readonly place: string
  readonly code: string
}

/**
 * Makes a test from every `@example` in the docstrings of `src`. Comments with values are checked, see `withChecks()`.
 *
 * @param directory of the package.
 */
export function testExamples(directory: string, scope: ExampleScope): void {
  const examples = globSync('src/**/*.ts', { cwd: directory })
    .toSorted()
    .flatMap((file) => docstringExamples(directory, file))
  describe('examples', () => {
    test('exist', () => expect(examples.length).toBeGreaterThan(0))
    for (const { place, code } of examples) test(place, () => runExample(code, scope))
  })
}

function docstringExamples(directory: string, file: string): Example[] {
  const text = readFileSync(join(directory, file), 'utf8')
  return [...text.matchAll(/\/\*\*.*?\*\//gs)].flatMap((comment) => {
    const lines = comment[0].split('\n').map((line) => line.replace(/^\s*\/?\*+ ?\/?/, ''))
    const start = lines.findIndex((line) => line.startsWith('@example'))
    if (start < 0) return []
    const end = lines.findIndex((line, i) => i > start && line.startsWith('@'))
    const body = lines.slice(start + 1, end < 0 ? undefined : end).filter((line) => !line.startsWith('```'))
    const line = text.slice(0, comment.index).split('\n').length + start
    return body.join('').trim() === '' ? [] : [{ place: `${file}:${line}`, code: body.join('\n') }]
  })
}

/** Runs an example in this process, and checks its comments with values. Its resources of `using` are disposed at the end. */
export async function runExample(code: string, { modules, context }: ExampleScope): Promise<void> {
  const names: Record<string, unknown> = context?.() ?? {}
  for (const module of hasImports(code) ? [] : Object.values(modules)) Object.assign(names, module)
  const used = Object.keys(names).filter((name) => new RegExp(`\\b${name}\\b`).test(code))
  const parameters = ['$module', '$equal', '$throws', ...used]
  // The example is a function of its own, because it may declare names that the scope has as well.
  const body = await toJavaScript(
    `let $run = (${parameters.join(', ')}) => async () => {\n${withChecks(withLookUps(code))}\n}`,
  )
  const run = new Function(`${body}\nreturn $run`)() as (...values: unknown[]) => () => Promise<void>
  const module = (specifier: string): object => {
    const found = modules[specifier]
    if (found === undefined) throw new Error(`the test does not provide ${specifier}, which the example imports`)
    return found
  }
  await run(module, expectEqual, expectThrow, ...used.map((name) => names[name]))()
}

function expectEqual(actual: unknown, expected: unknown): void {
  expect(actual).toEqual(expected)
}

async function expectThrow(action: () => Promise<unknown>, name: string): Promise<void> {
  const error: unknown = await action().then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error, `it should throw ${name}`).toMatchObject({ name })
}
