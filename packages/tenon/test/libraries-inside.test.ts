import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nodeResolve } from '@rollup/plugin-node-resolve'
import { findRuntime, testedRuntimes } from '@tenon/config/runtimes'
import { build as buildWithEsbuild } from 'esbuild'
import { rollup } from 'rollup'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { build as buildWithVite } from 'vite'
import { esbuildPlugin, rollupPlugin } from '../src/entries/bundler.ts'
import { expected, makeOneFileProject, type OneFileProject } from './one-file-project.ts'

let project: OneFileProject
/** A folder that nothing is installed in or above. */
let empty: string
let cache: string
beforeAll(() => {
  project = makeOneFileProject()
}, 120_000)
afterAll(() => project.remove())
beforeEach(() => {
  empty = mkdtempSync(join(tmpdir(), 'tenon-empty-'))
  cache = join(empty, 'cache')
  return () => rmSync(empty, { recursive: true })
})

/** Runs a program in the empty folder. */
function run(program: string, args: readonly string[] = []): Promise<{ stdout: string; stderr: string }> {
  const env = { ...process.env, TENON_CACHE_DIR: cache, NODE_PATH: '', NO_COLOR: '1', TENON_CORE_LIBRARY: '' }
  return new Promise((resolve) => {
    execFile(program, args, { cwd: empty, env, timeout: 60_000 }, (_, stdout, stderr) => resolve({ stdout, stderr }))
  })
}

const esbuildFor = (format: 'esm' | 'cjs') => async (): Promise<string> => {
  const outfile = join(empty, `main.${format === 'esm' ? 'mjs' : 'cjs'}`)
  await buildWithEsbuild({
    entryPoints: [project.source],
    bundle: true,
    platform: 'node',
    format,
    outfile,
    logLevel: 'silent',
    plugins: [esbuildPlugin({ libraries: 'inside' })],
  })
  return outfile
}

async function withRollup(): Promise<string> {
  const bundle = await rollup({
    input: project.source,
    external: [/^node:/, 'koffi'],
    plugins: [nodeResolve({ preferBuiltins: true }), rollupPlugin({ libraries: 'inside' })],
    onLog: () => {},
  })
  const file = join(empty, 'main.mjs')
  await bundle.write({ file, format: 'es', inlineDynamicImports: true })
  return file
}

async function withVite(): Promise<string> {
  await buildWithVite({
    root: project.directory,
    logLevel: 'silent',
    build: {
      ssr: 'src/main.js',
      outDir: empty,
      emptyOutDir: false,
      rollupOptions: { output: { entryFileNames: 'main.mjs' } },
    },
    ssr: { noExternal: true },
    plugins: [rollupPlugin({ libraries: 'inside' })],
  })
  return join(empty, 'main.mjs')
}

describe('a bundle with its libraries inside needs no other file', () => {
  test.for<[string, () => Promise<string>]>([
    ['esbuild, ES modules', esbuildFor('esm')],
    ['esbuild, CommonJS', esbuildFor('cjs')],
    ['Rollup', withRollup],
    ['Vite for servers', withVite],
  ])('%s', { timeout: 60_000 }, async ([, bundle]) => {
    const file = await bundle()
    expect(await run(process.execPath, [file])).toEqual({ stdout: expected, stderr: '' })
    expect(readdirSync(empty).filter((name) => name.endsWith('.so'))).toEqual([])
  })

  for (const runtime of testedRuntimes) {
    const path = findRuntime(runtime)
    if (path === undefined) continue
    test(`esbuild, run in ${runtime}`, { timeout: 60_000 }, async () => {
      const file = await esbuildFor('esm')()
      const args = runtime === 'deno' ? ['run', '--allow-all', file] : [file]
      expect(await run(path, args)).toEqual({ stdout: expected, stderr: '' })
    })
  }
})

test(
  'many processes that start at once share the extracted files, also if these are damaged meanwhile',
  { timeout: 120_000 },
  async () => {
    const file = await esbuildFor('cjs')()
    const start = (): Promise<{ stdout: string }[]> =>
      Promise.all(Array.from({ length: 6 }, () => run(process.execPath, [file])))
    expect((await start()).map(({ stdout }) => stdout)).toEqual(Array(6).fill(expected))
    const files = join(cache, 'files')
    const libraries = readdirSync(files, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.so'))
    expect(libraries.length).toBeGreaterThan(5)
    for (const library of libraries) writeFileSync(join(files, library), 'hostile')
    expect((await start()).map(({ stdout }) => stdout)).toEqual(Array(6).fill(expected))
    expect(libraries.filter((library) => readFileSync(join(files, library), 'utf8') === 'hostile')).toEqual([])
    expect(readdirSync(files).filter((name) => name.startsWith('unfinished'))).toEqual([])
  },
)

test('a cache that others can write to is refused before anything of it is loaded', { timeout: 60_000 }, async () => {
  const file = await esbuildFor('esm')()
  mkdirSync(join(cache, 'files'), { recursive: true, mode: 0o700 })
  chmodSync(join(cache, 'files'), 0o777)
  const { stdout, stderr } = await run(process.execPath, [file])
  expect([stdout, stderr]).toEqual(['', expect.stringContaining('can be written to by other users (mode 777)')])
})

test('the option must be one of two words', () => {
  for (const plugin of [esbuildPlugin, rollupPlugin]) {
    expect(() => plugin({ libraries: 'within' as never })).toThrow(
      'libraries must be "beside" or "inside", got "within"',
    )
    expect(() => plugin({ library: 'inside' } as never)).toThrow('The options are libraries.')
  }
})
