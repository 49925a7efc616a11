import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { collectSite } from '../src/lib/collect-site.ts'

let directory: string
let all: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-collect-'))
  all = join(directory, 'all')
})
afterEach(() => rmSync(directory, { recursive: true }))

/** Adds a site whose only page has its version and its path. */
async function collect(version: string | undefined, page = 'index.html'): Promise<void> {
  await collectSite(all, version, async (base) => {
    const built = join(directory, 'built')
    rmSync(built, { recursive: true, force: true })
    mkdirSync(join(built, 'assets'), { recursive: true })
    writeFileSync(join(built, page), `${version ?? 'main'} at ${base}`)
    return built
  })
}

const read = (path: string): string => readFileSync(join(all, path), 'utf8')
const versions = (): unknown => JSON.parse(read('versions.json'))

test('the latest release is at the root, each release under its number, and main at /next/', async () => {
  await collect(undefined)
  expect(versions()).toEqual([{ name: 'main', path: '/next/' }])
  await collect('0.9.0')
  await collect('0.10.0')
  expect([read('index.html'), read('0.10/index.html'), read('0.9/index.html'), read('next/index.html')]).toEqual([
    '0.10.0 at /',
    '0.10.0 at /0.10/',
    '0.9.0 at /0.9/',
    'main at /next/',
  ])
  expect(versions()).toEqual([
    { name: '0.10 (latest)', path: '/' },
    { name: '0.9', path: '/0.9/' },
    { name: 'main', path: '/next/' },
  ])
})

test('a patch of an older release replaces that one alone', async () => {
  await collect('0.1.0')
  await collect('0.2.0')
  await collect('0.1.1')
  expect([read('index.html'), read('0.1/index.html')]).toEqual(['0.2.0 at /', '0.1.1 at /0.1/'])
})

test('files of the release before are gone, and what belongs to the repository of the site stays', async () => {
  await collect('0.1.0', 'old.html')
  mkdirSync(join(all, '.git'))
  await collect('0.1.1')
  expect(['old.html', '0.1/old.html', '.git'].map((path) => existsSync(join(all, path)))).toEqual([false, false, true])
})

test('only a release has a number', async () => {
  await expect(collect('1.0.0-beta.1')).rejects.toThrow('got 1.0.0-beta.1')
})
