import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { expect, onTestFinished, test } from 'vitest'

import { readProcessCounts } from '../src/lib/process-counts.ts'

const source = `interface Choice {
  readonly big: boolean
}

export function choose({ big }: Choice): string {
  if (big) {
    return 'big'
  }
  return 'small'
}
`

/** The function in JavaScript, whose lines are those of the source. */
const built = `


export function choose({ big }) {
  if (big) {
    return 'big'
  }
  return 'small'
}
${'//'}# sourceMappingURL=choose.js.map
`

/** Each line of the built file from the fourth is the next line of the source. */
const map = { version: 3, sources: ['../src/choose.ts'], names: [], mappings: ';;;AAIA;EACE;IACE;EACF;EACA;AACF' }

interface Tree {
  readonly directory: string
  readonly run: (code: string) => void
  readonly read: () => Promise<Map<number, number> | undefined>
}

function makeTree(): Tree {
  const directory = mkdtempSync(join(tmpdir(), 'process-counts-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  for (const name of ['src', 'dist', 'out']) mkdirSync(join(directory, name))
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(directory, 'src/choose.ts'), source)
  writeFileSync(join(directory, 'dist/choose.js'), built)
  writeFileSync(join(directory, 'dist/choose.js.map'), JSON.stringify(map))
  const out = join(directory, 'out')
  return {
    directory,
    run: (code) => {
      const env = { ...process.env, NODE_V8_COVERAGE: out }
      execFileSync(process.execPath, ['--input-type=module', '-e', code], { cwd: directory, env })
    },
    read: async () => {
      const files = globSync('*.json', { cwd: out }).map((file) => join(out, file))
      const counts = await readProcessCounts(files, (path) => /\/(?:src|dist)\/choose\./.test(path))
      expect(counts.size).toBeLessThanOrEqual(1)
      return counts.get(join(directory, 'src/choose.ts'))
    },
  }
}

test('counts the lines of a source whose types Node.js strips', async () => {
  const tree = makeTree()
  tree.run(`import { choose } from './src/choose.ts'; choose({ big: false }); choose({ big: false })`)
  const lines = await tree.read()
  expect(lines?.get(6)).toBe(2)
  expect(lines?.get(7)).toBe(0)
  expect(lines?.get(9)).toBe(2)
  expect(lines?.has(2)).toBe(false)
})

test('adds up the source and the built file in several processes and workers', async () => {
  const tree = makeTree()
  tree.run(`import { choose } from './src/choose.ts'; choose({ big: false })`)
  tree.run(`import { choose } from './dist/choose.js'; choose({ big: true })`)
  tree.run(`
    import { Worker } from 'node:worker_threads'
    new Worker(\`import(process.cwd() + '/dist/choose.js').then(({ choose }) => choose({ big: true }))\`, { eval: true })`)
  const lines = await tree.read()
  expect(lines?.get(6)).toBe(3)
  expect(lines?.get(7)).toBe(2)
  expect(lines?.get(9)).toBe(1)
})

test('finds the source map of a program that is published without one, if the code is the same', async () => {
  const tree = makeTree()
  const maps = join(tree.directory, 'reports/maps')
  mkdirSync(maps, { recursive: true })
  for (const name of ['choose.js', 'choose.js.map']) cpSync(join(tree.directory, 'dist', name), join(maps, name))
  // From reports/maps, the source is one directory further away.
  writeFileSync(join(maps, 'choose.js.map'), JSON.stringify({ ...map, sources: ['../../src/choose.ts'] }))
  rmSync(join(tree.directory, 'dist/choose.js.map'))
  const [code] = built.split('//#') as [string]
  writeFileSync(join(tree.directory, 'dist/choose.js'), code)
  tree.run(`import { choose } from './dist/choose.js'; choose({ big: true })`)
  expect((await tree.read())?.get(7)).toBe(1)
  writeFileSync(join(maps, 'choose.js'), `${code}// changed\n`)
  expect(await tree.read()).toBeUndefined()
})

test('leaves out reports that are not complete, built files without a source map, and deleted scripts', async () => {
  const tree = makeTree()
  tree.run(`import { choose } from './dist/choose.js'; choose({ big: true })`)
  writeFileSync(join(tree.directory, 'out/killed.json'), '{"result":[{"scr')
  expect((await tree.read())?.get(7)).toBe(1)
  rmSync(join(tree.directory, 'dist/choose.js.map'))
  expect(await tree.read()).toBeUndefined()
  rmSync(join(tree.directory, 'dist/choose.js'))
  expect(await tree.read()).toBeUndefined()
})
