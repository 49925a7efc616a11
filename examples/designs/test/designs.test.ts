import { execFileSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { lengths } from '../lengths.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const sources = globSync('csrc/*', { cwd: root }).toSorted()
const designs = Object.keys(lengths).filter((design) => design !== 'csrc')

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-designs-'))
  const include = fileURLToPath(new URL('../../../packages/core/include', import.meta.url))
  for (const source of sources) {
    const isC = extname(source) === '.c'
    const compiler = isC ? (process.env['CC'] ?? 'cc') : (process.env['CXX'] ?? 'c++')
    const library = join(directory, `lib${basename(source, extname(source))}.so`)
    const flags = ['-O1', '-Wall', '-Wextra', '-Werror', '-shared', '-fPIC', ...(isC ? [] : ['-std=c++17'])]
    execFileSync(compiler, [...flags, '-I', include, '-o', library, join(root, source)], { stdio: 'inherit' })
  }
})
afterAll(() => rmSync(directory, { recursive: true }))

/** The lines of code, without those that only check the outcome. */
function linesOf(code: string): number {
  const withoutComments = code.replaceAll(/\/\*[^]*?\*\/|\/\/.*$/gm, '')
  const withoutChecks = withoutComments.replaceAll(/^( *)assert(?:.*\)|[^]*?\n\1\)) *$/gm, '')
  return withoutChecks.split('\n').filter((line) => line.trim() !== '').length
}

/** The body of each exported function, or each marked part of a source in C. */
function partsOf(files: readonly string[]): Record<string, string> {
  const text = files.map((file) => readFileSync(join(root, file), 'utf8')).join('\n')
  const functions = text.matchAll(/^export (?:async )?function (\w+)\(.*\{\n([^]*?)^\}/gm)
  const marked = text.matchAll(/^\/\/ example: (\w+)\n([^]*?)^\/\/ end$/gm)
  return Object.fromEntries([...functions, ...marked].map(([, name, code]) => [name!, code!]))
}

describe.each(designs)('the examples of the design of %s', async (design) => {
  const examples = (await import(`../${design}/examples.ts`)) as Record<string, (directory: string) => unknown>

  test.runIf(process.platform === 'linux').each(Object.keys(lengths[design]!))('%s runs', async (name) => {
    expect(await examples[name]!(directory)).toBeUndefined()
  })

  test('are all in the table of lengths', () => {
    expect(Object.keys(examples).toSorted()).toEqual(Object.keys(lengths[design]!).toSorted())
  })
})

test.each([...designs, 'csrc'])('an example of %s is at most twice as long as its original', (design) => {
  const parts = partsOf(design === 'csrc' ? sources : [`${design}/examples.ts`])
  expect(Object.keys(parts).toSorted()).toEqual(Object.keys(lengths[design]!).toSorted())
  const long = Object.entries(lengths[design]!).flatMap(([name, most]) => {
    const count = linesOf(parts[name]!)
    return most !== undefined && count > 2 * most ? [`${name}: ${count} lines, the original has ${most}`] : []
  })
  expect(long).toEqual([])
})
