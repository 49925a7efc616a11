import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const directory = new URL('..', import.meta.url)
const manifest = JSON.parse(readFileSync(new URL('package.json', directory), 'utf8')) as {
  exports: Record<string, { default: string } | string>
}

/** What a built entry exports. */
async function builtNames(entry: string): Promise<string[]> {
  const target = manifest.exports[entry]
  if (typeof target !== 'object') throw new Error(`no entry ${entry}`)
  return Object.keys((await import(new URL(target.default, directory).href)) as object)
}

/** The packages that the umbrella holds, and the entries of each that are for users. */
const entries = ['binary', 'core', 'scope', 'custom-call', 'packed-func', 'tstring', 'pools'].flatMap((name) => {
  const path = new URL(`../../${name}/package.json`, import.meta.url)
  const { exports } = JSON.parse(readFileSync(path, 'utf8')) as typeof manifest
  return Object.keys(exports)
    .filter((entry) => entry !== './internal' && entry !== './package.json')
    .map((entry) => `${name}${entry.slice(1)}`)
})

test('every entry of every package is an entry of tenon, so that a user of tenon alone reaches everything', () => {
  expect(entries.length).toBeGreaterThan(10)
  expect(Object.keys(manifest.exports)).toEqual(expect.arrayContaining(entries.map((entry) => `./${entry}`)))
})

// Importing the process of a driver starts it.
test.each(entries.filter((entry) => entry !== 'pools/driver-process'))(
  'tenon/%s is all of the entry',
  async (entry) => {
    const original = Object.keys((await import(`@tenon/${entry}`)) as object)
    expect(original.length).toBeGreaterThan(0)
    expect((await builtNames(`./${entry}`)).toSorted()).toEqual(original.toSorted())
  },
)

test('the root has what the README uses', async () => {
  const names = await builtNames('.')
  for (const name of ['Library', 'tensor', 'f32', 'readNpy', 'writeNpy', 'XlaError']) expect(names).toContain(name)
})

test('the root has every class of errors that its functions throw', async () => {
  const names = await builtNames('.')
  for (const name of ['core', 'custom-call']) {
    const exported = Object.keys((await import(`@tenon/${name}`)) as object)
    const classes = exported.filter((known) => /^[A-Z]\w*Error$/.test(known))
    expect(classes.length).toBeGreaterThan(3)
    expect(names).toEqual(expect.arrayContaining(classes))
  }
})
