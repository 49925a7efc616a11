import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { platforms } from '@tenon/build'
import { expect, test } from 'vitest'

import {
  parsePlatforms,
  platformTable,
  readPlatforms,
  releasedPlatforms,
  withPlatformTable,
} from '../src/lib/platforms.ts'
import { root } from '../src/lib/root.ts'

const all = readPlatforms()

test('platforms.json has every platform, and those that are released have a package and a machine', () => {
  expect(all.map(({ name }) => name).toSorted()).toEqual(platforms.map(({ name }) => name).toSorted())
  for (const { name, runner } of releasedPlatforms(all)) {
    const manifest = JSON.parse(readFileSync(join(root, `packages/core/npm/${name}/package.json`), 'utf8')) as object
    expect(manifest).toMatchObject({ name: `@tenon/core-${name}` })
    expect(runner).toBeTypeOf('string')
  }
})

test('only tested platforms are released', () => {
  expect(releasedPlatforms([...all, { name: 'win32-x64', state: 'loads', shown: '' }])).toEqual(
    all.filter(({ state }) => state === 'tested'),
  )
})

test('parsePlatforms() refuses a missing platform, an unknown state, and a tested platform without a machine', () => {
  const valid = JSON.parse(readFileSync(join(root, 'platforms.json'), 'utf8')) as Record<string, object>
  const parse = (changes: object): unknown => parsePlatforms(JSON.stringify({ ...valid, ...changes }))
  expect(() => parse({ 'darwin-x64': undefined })).toThrow('platforms.json must have darwin-x64')
  expect(() => parse({ 'darwin-x64': { state: 'works' } })).toThrow('must be one of tested, loads, builds, got works')
  expect(() => parse({ 'darwin-x64': { state: 'tested', shown: 'all' } })).toThrow('must have the runner of darwin-x64')
  expect(() => parse({ 'beos-x64': { state: 'builds' } })).toThrow('the platform must be one of')
})

test('withPlatformTable() replaces the table of a page', () => {
  const page = 'a\n<!-- platforms: from platforms.json -->\nold\n<!-- end of platforms -->\nb'
  const table = platformTable([{ name: 'linux-x64-gnu', state: 'tested', runner: 'x', shown: 'all' }])
  expect(withPlatformTable(page, table)).toBe(
    [
      'a',
      '<!-- platforms: from platforms.json -->',
      '',
      '| platform        | state                     | what was run there |',
      '| --------------- | ------------------------- | ------------------ |',
      '| `linux-x64-gnu` | tested, part of a release | all                |',
      '',
      '<!-- end of platforms -->',
      'b',
    ].join('\n'),
  )
  expect(() => withPlatformTable('a page', table)).toThrow(
    'README.md must have <!-- platforms: from platforms.json -->',
  )
})
