import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { beforeEach, describe, expect, test } from 'vitest'

import { npmPackage } from '../../src/publish/npm-package.ts'
import { publishPackages, type PublishOptions } from '../../src/publish/publish-packages.ts'

const packages = [
  { name: '@me/adders-linux-x64-gnu', version: '1.2.3', integrity: 'sha512-a' },
  { name: '@me/adders', version: '1.2.3', integrity: 'sha512-b' },
]
const paths = ['/dist/npm/adders-linux', '/dist/npm/adders']

describe('publishing', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tenon-npm-'))
    return () => rmSync(folder, { recursive: true })
  })

  /** An npm that writes down its arguments. @param view what `npm view` does @param publish what `npm publish` does */
  function fakeNpm(view: string, publish = ':', packed: object = packages): void {
    const script = `#!/bin/sh
echo "$@" >> ${folder}/calls
case $1 in
pack) echo '${JSON.stringify(packed)}' ;;
view) ${view} ;;
publish) ${publish} ;;
esac
`
    writeFileSync(join(folder, 'npm'), script)
    chmodSync(join(folder, 'npm'), 0o755)
  }
  const calls = (): string[] => readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n')
  const notFound = `echo '{"error":{"code":"E404"}}'; exit 1`
  const publish = (options: PublishOptions = {}): { lines: string[]; published: string[] } => {
    const lines: string[] = []
    const env = { PATH: `${folder}:${process.env['PATH']}` }
    return { published: publishPackages(paths, { env, ...options }, (line) => lines.push(line)), lines }
  }

  test('asks for every version first, publishes in order, and passes its options on', () => {
    fakeNpm(notFound)
    const registry = 'http://localhost:4873'
    expect(publish({ registry, tag: 'beta', access: 'public', provenance: false })).toEqual({
      lines: ['publishing @me/adders-linux-x64-gnu@1.2.3', 'publishing @me/adders@1.2.3'],
      published: ['@me/adders-linux-x64-gnu@1.2.3', '@me/adders@1.2.3'],
    })
    const flags = `--registry=${registry} --tag=beta --access=public --provenance=false`
    expect(calls()).toEqual([
      `pack --dry-run --json ${paths.join(' ')}`,
      `view @me/adders-linux-x64-gnu@1.2.3 dist.integrity --json --registry=${registry}`,
      `view @me/adders@1.2.3 dist.integrity --json --registry=${registry}`,
      `publish ${paths[0]} ${flags}`,
      `publish ${paths[1]} ${flags}`,
    ])
  })

  test('publishes versions before a release under another tag', () => {
    fakeNpm(notFound, ':', [{ ...packages[0], version: '2.0.0-beta.1' }])
    publish()
    expect(calls().at(-1)).toBe(`publish ${paths[0]} --tag=next`)
  })

  test('skips a version that is published with the same contents', () => {
    fakeNpm(`case $2 in *-gnu@*) echo '"sha512-a"' ;; esac`)
    const { lines, published } = publish()
    expect(lines).toEqual(['@me/adders-linux-x64-gnu@1.2.3 is published already', 'publishing @me/adders@1.2.3'])
    expect(published).toEqual(['@me/adders@1.2.3'])
    expect(calls().at(-1)).toBe(`publish ${paths[1]}`)
  })

  test('publishes nothing if the registry has other contents under a version', () => {
    fakeNpm(`case $2 in *-gnu@*) ${notFound} ;; *) echo '"sha512-x"' ;; esac`)
    expect(() => publish()).toThrow('the registry has @me/adders@1.2.3 with other contents: sha512-x, not sha512-b')
    expect(calls().filter((line) => line.startsWith('publish'))).toEqual([])
  })

  test('stops at the first package that npm cannot publish, and if it cannot reach the registry', () => {
    fakeNpm(notFound, 'exit 1')
    expect(() => publish()).toThrow('npm could not publish @me/adders-linux-x64-gnu@1.2.3')
    expect(calls().filter((line) => line.startsWith('publish'))).toHaveLength(1)
    fakeNpm(`echo '{"error":{"code":"ECONNREFUSED","summary":"no connection"}}'; exit 1`)
    expect(() => publish()).toThrow('npm could not ask the registry for @me/adders-linux-x64-gnu@1.2.3: no connection')
  })

  test('says so if npm is not installed', () => {
    expect(() => publish({ env: { PATH: folder } })).toThrow('npm could not be run: spawnSync npm ENOENT')
  })
})

test('a package must have a manifest with a name and a version', () => {
  const of = (text: string) => (): unknown =>
    npmPackage('the folder', new Map([['package.json', { bytes: Buffer.from(text), executable: false }]]))
  for (const text of ['', '[]', 'null', '{ "name": "a" }'])
    expect(of(text)).toThrow('the folder must have a package.json with a name and a version')
})
