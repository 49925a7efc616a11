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

test.each(['core', 'scope', 'custom-call', 'tstring', 'pools'])('tenon/%s is all of the package', async (name) => {
  const original = Object.keys((await import(`@tenon/${name}`)) as object)
  expect(original.length).toBeGreaterThan(0)
  expect((await builtNames(`./${name}`)).toSorted()).toEqual(original.toSorted())
})

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
