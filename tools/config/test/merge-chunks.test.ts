import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { MAIN_ENTRIES, mergeChunks } from '../src/merge-chunks.ts'

const banner = 'globalThis.merged = (globalThis.merged ?? 0) + 1;'
const files = {
  'index.js':
    'import { next } from "./chunk-AAAAAAAA.js";\nimport { LARGE } from "./chunk-BBBBBBBB.js";\nexport { LARGE, next };',
  'internal.js':
    'import {\n  next\n} from "./chunk-AAAAAAAA.js";\nimport { Failure } from "./chunk-CCCCCCCC.js";\nexport { Failure as hidden, next };',
  'errors.js': 'import { Failure } from "./chunk-CCCCCCCC.js";\nexport { Failure };',
  'chunk-AAAAAAAA.js':
    'import { Failure } from "./chunk-CCCCCCCC.js";\nlet count = 0;\nconst next = () => ++count;\nvoid Failure;\nexport { next };',
  'chunk-BBBBBBBB.js': `const LARGE = "${'x'.repeat(4000)}";\nexport { LARGE };`,
  'chunk-CCCCCCCC.js': 'class Failure extends Error {}\nexport { Failure };',
}

let directory: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'merge-chunks-'))
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }')
  for (const [name, code] of Object.entries(files)) {
    writeFileSync(join(directory, name), `${banner}\n${code}\n`)
    writeFileSync(
      join(directory, `${name}.map`),
      JSON.stringify({ version: 3, sources: [`../src/${name}`], names: [], mappings: '' }),
    )
  }
})

afterEach(() => rmSync(directory, { recursive: true }))

const load = async (name: string): Promise<Record<string, unknown>> =>
  (await import(pathToFileURL(join(directory, name)).href)) as Record<string, unknown>

describe('mergeChunks', () => {
  it('puts all that the main entry points load into one file, once', async () => {
    await mergeChunks(directory, Object.keys(files), { main: MAIN_ENTRIES, banner })
    const index = await load('index.js')
    const internal = await load('internal.js')
    expect(Object.keys(index).toSorted()).toEqual(['LARGE', 'next'])
    expect(Object.keys(internal).toSorted()).toEqual(['hidden', 'next'])
    expect(internal['next']).toBe(index['next'])
    const scripts = readdirSync(directory).filter((name) => name.endsWith('.js'))
    expect(scripts.filter((name) => !(name in files))).toHaveLength(2)
    for (const name of scripts) {
      expect(readFileSync(join(directory, name), 'utf8').split(banner)).toHaveLength(2)
      expect(existsSync(join(directory, `${name}.map`))).toBe(true)
    }
  })

  it('leaves what only other entry points load out of the file of the main ones', async () => {
    const [hidden, large] = ['chunk-CCCCCCCC.js', 'chunk-BBBBBBBB.js']
    writeFileSync(join(directory, 'other.js'), `${banner}\nimport { LARGE } from "./${large}";\nexport { LARGE };\n`)
    writeFileSync(join(directory, 'other.js.map'), readFileSync(join(directory, 'index.js.map')))
    await mergeChunks(directory, [...Object.keys(files), 'other.js'], { main: ['internal.js'], banner })
    const [, merged] = /from '\.\/(package-[^']+)'/.exec(readFileSync(join(directory, 'internal.js'), 'utf8'))!
    const code = readFileSync(join(directory, merged!), 'utf8')
    expect([code.includes('class Failure'), code.includes('LARGE')]).toEqual([true, false])
    expect(readdirSync(directory)).not.toContain(hidden)
    expect((await load('index.js'))['LARGE']).toBe((await load('other.js'))['LARGE'])
  })

  it('leaves a small part that another entry point loads in a file of its own', async () => {
    await mergeChunks(directory, Object.keys(files), { main: MAIN_ENTRIES, banner })
    const code = readFileSync(join(directory, 'errors.js'), 'utf8')
    const [, chunk] = /from '\.\/([^']+)'/.exec(code)!
    const part = readFileSync(join(directory, chunk!), 'utf8')
    expect(part).toContain('class Failure')
    expect(part).not.toContain('LARGE')
    const { Failure } = await load('errors.js')
    expect(new (Failure as typeof Error)('x')).toBeInstanceOf(Error)
  })
})
