import { globSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

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
 * Makes a test from every `@example` in the docstrings of `src` and from every `ts` block of the README.
 *
 * A statement on one line with a comment that is an expression must have that value: `1 + 1 // 2`. A statement with the
 * comment `// throws RangeError` must throw that error. Other comments are prose. A block marked `ts no-run` is not run.
 *
 * @param directory of the package.
 */
export function testExamples(directory: string, scope: ExampleScope): void {
  const examples = [
    ...globSync('src/**/*.ts', { cwd: directory })
      .toSorted()
      .flatMap((file) => docstringExamples(directory, file)),
    ...blockExamples(directory, 'README.md'),
  ]
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

function blockExamples(directory: string, file: string): Example[] {
  const text = readFileSync(join(directory, file), 'utf8')
  return [...text.matchAll(/^```ts\n(.*?)^```/gms)].map((block) => ({
    place: `${file}:${text.slice(0, block.index).split('\n').length}`,
    code: block[1]!,
  }))
}

/** Whether Node.js parses `using`. Node.js 22 does not, so there the resources are disposed after the example. */
const parsesUsing = Number(process.versions.node.split('.')[0]) >= 24

const usingToConst = (code: string): string =>
  parsesUsing ? code : code.replace(/^(\s*)using (\w+) = (.+)$/gm, '$1const $2 = $own($3)')

export async function runExample(code: string, { modules, context }: ExampleScope): Promise<void> {
  const names: Record<string, unknown> = context?.() ?? {}
  const hasImports = /^import /m.test(code)
  for (const module of hasImports ? [] : Object.values(modules)) Object.assign(names, module)
  const body = usingToConst(stripTypeScriptTypes(importsToLookUps(checked(code))))
  const declared = new Set([...body.matchAll(/(?:const|let|class|function|using)\s+(\w+)/g)].map((match) => match[1]))
  const used = Object.keys(names).filter((name) => !declared.has(name) && new RegExp(`\\b${name}\\b`).test(body))
  const AsyncFunction = (async () => {}).constructor as new (
    ...texts: string[]
  ) => (...values: unknown[]) => Promise<void>
  const run = new AsyncFunction('$modules', '$equal', '$throws', '$own', ...used, body)
  const owned: Disposable[] = []
  await run(
    (specifier: string) => {
      const module = modules[specifier]
      if (module === undefined) throw new Error(`the test does not provide ${specifier}, which the example imports`)
      return module
    },
    (actual: unknown, expected: unknown) => expect(actual).toEqual(expected),
    async (action: () => unknown, name: string) => {
      const error: unknown = await Promise.resolve()
        .then(action)
        .then(
          () => undefined,
          (thrown: unknown) => thrown,
        )
      expect(error, `it should throw ${name}`).toMatchObject({ name })
    },
    (value: Disposable) => {
      owned.push(value)
      return value
    },
    ...used.map((name) => names[name]),
  ).finally(() => {
    for (const value of owned.toReversed()) value[Symbol.dispose]()
  })
}

function importsToLookUps(code: string): string {
  return code
    .replace(/^import type .*$/gm, '')
    .replace(/^import \{([^}]*)\} from '([^']+)'$/gm, (_, imported: string, specifier: string) => {
      const values = imported.split(',').filter((name) => !name.trim().startsWith('type '))
      return `const {${values.join(',').replaceAll(' as ', ': ')}} = $modules('${specifier}')`
    })
    .replace(/^import \* as (\w+) from '([^']+)'$/gm, "const $1 = $modules('$2')")
}

const declaration =
  /^\s*(import|export|const|let|var|using|await using|if|for|while|return|throw|try|class|function|async function|\}|\/\/)/

/** Turns comments with results into checks. */
function checked(code: string): string {
  return code
    .split('\n')
    .map((line) => {
      const match = /^(\s*)(.+?);?\s+\/\/ (.+)$/.exec(line)
      if (match === null || declaration.test(line)) return line
      const [, indent, statement, comment] = match as unknown as [string, string, string, string]
      const thrown = /^throws (\w+)/.exec(comment)?.[1]
      if (thrown !== undefined) return `${indent};await $throws(async () => (${statement}), '${thrown}')`
      return isExpression(comment) ? `${indent};$equal(${statement}, ${comment})` : line
    })
    .join('\n')
}

/** Whether a comment is an expression. One word of prose parses as a name, so only names of values count. */
function isExpression(text: string): boolean {
  if (/^[A-Za-z_]\w*$/.test(text)) return ['true', 'false', 'null', 'undefined', 'NaN', 'Infinity'].includes(text)
  try {
    return typeof new Function(`return (${text})`) === 'function'
  } catch {
    return false
  }
}
