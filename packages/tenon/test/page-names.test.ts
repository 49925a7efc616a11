import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { calledIn, isPublic } from './public-api.ts'
import { pages, root } from './reader.ts'

interface Span {
  readonly place: string
  readonly code: string
}

/** The code in backticks on the lines of a page. Blocks are run by documentation.test.ts. */
function spansOf(page: string): Span[] {
  const prose = readFileSync(join(root, page), 'utf8').replaceAll(/^```.*?^```/gms, (block) =>
    block.replaceAll(/[^\n]/g, ''),
  )
  return prose
    .split('\n')
    .flatMap((line, i) =>
      [...line.matchAll(/`([^`]+)`/g)].map(([, code]) => ({ place: `${page}:${i + 1}`, code: code! })),
    )
}

/** Names that pages call and that are not of this repository: of JavaScript, of C, and of the reader. */
const foreign = new Set([
  'console.log',
  'Error',
  'Float32Array',
  'postMessage',
  'pthread_exit',
  'strlen',
  'sqlite3_close',
  'Ref',
  'TF_GetStream',
  'JSON.stringify',
  'process.memoryUsage',
  'terminate',
  'tn_cancelled',
  'f',
  'matmul',
  'rms_norm',
  '__tvm_ffi_add_one',
])
/** Members of objects that exports contain: descriptors, and layouts. */
const nested = new Set(['map', 'element'])

const forUsers = pages.filter((page) => /^(README\.md|packages\/[^/]+\/README\.md|docs\/errors\/.*)$/.test(page))

test('names that do not exist, or are internal, are not public', () => {
  for (const name of ['executeSync', 'ResourceScope.allocate', 'memory.nothing', 'takeChunk', 'checkSize'])
    expect({ name, isPublic: isPublic(name) }).toEqual({ name, isPublic: false })
  for (const name of ['closeAsync', 'ResourceScope.ofConfined', 'memory.tensor', 'f32'])
    expect({ name, isPublic: isPublic(name) }).toEqual({ name, isPublic: true })
})

test('every function that a page for users names is public', () => {
  const unknown = forUsers.flatMap(spansOf).flatMap(({ place, code }) =>
    calledIn(code)
      .filter((name) => !foreign.has(name) && !nested.has(name) && !isPublic(name))
      .map((name) => `${place} names ${name}()`),
  )
  expect(unknown).toEqual([])
})

test('every source file that the pages of the architecture name exists', () => {
  const files = globSync('{packages,tools,examples}/**/*.{ts,c,cc,h,S,def}', {
    cwd: root,
    exclude: (name) => /(^|\/)(node_modules|dist)$/.test(name),
  }).map((path) => `/${path}`)
  const named = ['docs/architecture.md', 'docs/calls.md']
    .flatMap(spansOf)
    .filter(({ code }) => /^[\w./-]+\.(ts|c|cc|h|S|def)$/.test(code))
  expect(named.length).toBeGreaterThan(40)
  const missing = named.filter(({ code }) => !files.some((path) => path.endsWith(`/${code}`)))
  expect(missing).toEqual([])
})
