import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './reader.ts'

const directory = new URL('..', import.meta.url)
const manifest = JSON.parse(readFileSync(new URL('package.json', directory), 'utf8')) as {
  exports: Record<string, { default: string } | string>
}

/** Imports a built entry. */
async function importBuilt(entry: string): Promise<Record<string, unknown>> {
  const target = manifest.exports[entry]
  if (typeof target !== 'object') throw new Error(`no entry ${entry}`)
  return (await import(new URL(target.default, directory).href)) as Record<string, unknown>
}

/** The names that a built entry exports. */
const builtNames = async (entry: string): Promise<string[]> => Object.keys(await importBuilt(entry))

/** The public entries of all packages of the umbrella. */
const packages = ['binary', 'core', 'scope', 'custom-call', 'packed-func', 'tstring', 'pools', 'isolate', 'nnapi']
const entries = packages.flatMap((name) => {
  const path = new URL(`../../${name}/package.json`, import.meta.url)
  const { exports } = JSON.parse(readFileSync(path, 'utf8')) as typeof manifest
  return (
    Object.keys(exports)
      // The program of workers is started by its path, and never imported.
      .filter(
        (entry) =>
          !['./internal', './package.json', './debug-info', './private-directory', './worker-process'].includes(entry),
      )
      .map((entry) => `${name}${entry.slice(1)}`)
  )
})

test('every entry of every package is an entry of tenon', () => {
  expect(entries.length).toBeGreaterThan(10)
  expect(Object.keys(manifest.exports)).toEqual(expect.arrayContaining(entries.map((entry) => `./${entry}`)))
})

/** The packages whose names an entry has. */
const partsOf = (entry: string): readonly string[] => (entry === 'pools' ? ['pools', 'isolate', 'nnapi'] : [entry])

test('tenon/pools has entries for the parts of its models and drivers', async () => {
  expect(Object.keys(manifest.exports)).toContain('./pools/driver-process')
  const names = Object.keys((await import('@tenon/nnapi/hidl')) as object)
  expect((await builtNames('./pools/hidl')).toSorted()).toEqual(names.toSorted())
})

// Importing the process of a driver starts it.
test.each(entries.filter((entry) => entry !== 'nnapi/driver-process'))(
  'tenon/%s exports every name of its package entry',
  async (entry) => {
    const parts = await Promise.all(partsOf(entry).map((name) => import(`@tenon/${name}`) as Promise<object>))
    const original = parts.flatMap((part) => Object.keys(part))
    expect(original.length).toBeGreaterThan(0)
    expect((await builtNames(`./${entry}`)).toSorted()).toEqual(original.toSorted())
  },
)

test.each(entries.filter((entry) => entry !== 'nnapi/driver-process'))(
  'the built classes of tenon/%s have the names by which they are exported',
  async (entry) => {
    const exported = Object.entries(await importBuilt(`./${entry}`))
    const isClass = (value: unknown): value is { readonly name: string } =>
      typeof value === 'function' && /^class\b/.test(String(value))
    for (const [name, value] of exported) expect(isClass(value) ? value.name : name).toBe(name)
  },
)

test('the root entry exports the names that the README uses', async () => {
  const names = await builtNames('.')
  for (const name of ['Library', 'tensor', 'f32', 'readNpy', 'writeNpy', 'XlaError']) expect(names).toContain(name)
})

test('the root entry exports each error class that its functions throw, or the kind that it belongs to', async () => {
  const { TenonError, ...exported } = await importBuilt('.')
  const kinds = new Set(Object.values(exported))
  for (const name of ['core', 'custom-call']) {
    const all = Object.entries((await import(`@tenon/${name}`)) as object)
    const classes = all.filter(([known]) => /^[A-Z]\w*Error$/.test(known) && known !== 'TenonError')
    expect(classes.length).toBeGreaterThan(3)
    for (const [known, value] of classes)
      expect({ known, isKnown: kinds.has(value) || kinds.has(Object.getPrototypeOf(value)) }).toEqual({
        known,
        isKnown: true,
      })
  }
  expect(TenonError).toBeDefined()
})

test('the built declarations use their type parameters', () => {
  // stripInternal removes internal members. A type parameter that only they use is lost, and TypeScript infers unknown.
  const files = globSync('packages/*/dist/**/*.d.ts', { cwd: root })
  expect(files.length).toBeGreaterThan(300)
  const unused = files.flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8').replaceAll(/\/\*.*?\*\//gs, '')
    const declared =
      /^export (?:declare )?(?:abstract )?(?:class|interface) (?<name>\w+)<(?<parameters>[^{]*?)>\s*(?<body>(?:(?:extends|implements) [^{]*)?\{.*?^\})/gms
    return [...text.matchAll(declared)].flatMap(({ groups }) => {
      const { name, parameters, body } = groups as { name: string; parameters: string; body: string }
      const names = parameters
        .split(/,(?![^<(]*[>)])/)
        .map((of) => /(\w+)(?=\s|$)/.exec(of.replaceAll(/\b(?:const|in|out) /g, ''))![1]!)
      return names.filter((of) => !new RegExp(`\\b${of}\\b`).test(body)).map((of) => `${file}: ${name}<${of}>`)
    })
  })
  expect(unused).toEqual([])
})
