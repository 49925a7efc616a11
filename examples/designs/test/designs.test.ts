import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { lengths } from '../lengths.ts'
import { compileForHost, isForGpu, root, sources } from './compile.ts'

const designs = Object.keys(lengths).filter((design) => design !== 'csrc')

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-designs-'))
  for (const source of sources) if (!isForGpu(source)) compileForHost(directory, source)
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

/** The files of a design's examples; gpu.test.ts runs those of gpu.ts. */
const filesOf = (design: string): string[] =>
  [`${design}/examples.ts`, `${design}/gpu.ts`].filter((file) => existsSync(join(root, file)))

describe.each(designs)('the examples of the design of %s', async (design) => {
  const examples = (await import(`../${design}/examples.ts`)) as Record<string, (directory: string) => unknown>

  test.runIf(process.platform === 'linux').each(Object.entries(examples))('%s runs', async (_, example) => {
    expect(await example(directory)).toBeUndefined()
  })
})

test.each([...designs, 'csrc'])('an example of %s is at most twice as long as its original', (design) => {
  const parts = partsOf(design === 'csrc' ? sources : filesOf(design))
  expect(Object.keys(parts).toSorted()).toEqual(Object.keys(lengths[design]!).toSorted())
  const long = Object.entries(lengths[design]!).flatMap(([name, most]) => {
    const count = linesOf(parts[name]!)
    return most !== undefined && count > 2 * most ? [`${name}: ${count} lines, the original has ${most}`] : []
  })
  expect(long).toEqual([])
})
