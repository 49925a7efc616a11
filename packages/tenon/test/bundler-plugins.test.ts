import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nodeResolve } from '@rollup/plugin-node-resolve'
import { runScript } from '@tenon/core/testing'
import { build as buildWithEsbuild, type Plugin as TypeOfEsbuild } from 'esbuild'
import { type Plugin as TypeOfRollup, rollup } from 'rollup'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { build as buildWithVite, type Plugin as TypeOfVite } from 'vite'
import { esbuildPlugin, rollupPlugin } from '../src/entries/bundler.ts'
import { adding } from './kernel-project.ts'
import { root } from './reader.ts'
import { runTenon } from './run-tenon.ts'
import { compileLibrary } from './signature-library.ts'

let original: string
let directory: string
const at = (...names: string[]): string => join(directory, ...names)

/** A project with a module of `tenon types`, one of `tenon bind`, a module that names its library by hand, and a program below the folder of the bundle. */
beforeAll(() => {
  original = directory = mkdtempSync(join(tmpdir(), 'tenon-bundle-'))
  for (const folder of ['node_modules/@tenon', 'native/other', 'src/tools']) mkdirSync(at(folder), { recursive: true })
  symlinkSync(join(root, 'packages/tenon'), at('node_modules/tenon'))
  symlinkSync(join(root, 'packages/core'), at('node_modules/@tenon/core'))
  compileLibrary(at('native'), adding('add_one', 1), 'libone.so')
  compileLibrary(at('native'), adding('add_two', 2).replace(/^TN_SIGNATURE.*$/m, ''), 'lib two.so')
  const kernels = { add_two: { signature: '(x: f32[4]) -> (y: f32[4])', convention: 'host' } }
  writeFileSync(at('native/lib two.tenon.json'), JSON.stringify({ tenon: 1, kernels }))
  for (const output of ['src/one.js', 'src/one.ts'])
    expect(runTenon(['types', at('native/libone.so'), '--output', at(output)])).toMatchObject({ code: 0 })
  compileLibrary(at('native'), 'int count(void) { return 7; }', 'lib#count.so')
  writeFileSync(at('native/count.h'), 'int count(void);\n')
  const binding = ['native/count.h', '--library', 'native/lib#count.so', '--output', 'src/count']
  expect(runTenon(['bind', ...binding], { cwd: directory })).toMatchObject({ code: 0 })
  writeFileSync(
    at('src/two.js'),
    `import { Library } from 'tenon'
export const two = Library.open(new URL("../native/lib%20two.so", import.meta.url)).kernel('add_two')`,
  )
  const program = (folder: string): string => `import { tensor } from 'tenon'
import { add_one } from '${folder}/one.js'
import { two } from '${folder}/two.js'
import { count } from '${folder}/count/index.js'
console.log(add_one(tensor('f32', [4])).toArray().join(), two(tensor('f32', [4])).toArray().join(), count())`
  writeFileSync(at('src/main.js'), program('.'))
  writeFileSync(at('src/tools/main.js'), program('..'))
})
afterAll(() => rmSync(original, { recursive: true }))

/** Each test changes a copy of the project. */
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-bundle-'))
  cpSync(original, directory, { recursive: true, verbatimSymlinks: true })
})
afterEach(() => rmSync(directory, { recursive: true }))

type Bundle = (inputs: Readonly<Record<string, string>>) => Promise<unknown>

const esbuildFor =
  (format: 'esm' | 'cjs'): Bundle =>
  (entryPoints) =>
    buildWithEsbuild({
      absWorkingDir: directory,
      entryPoints,
      bundle: true,
      platform: 'node',
      format,
      outdir: 'dist',
      outExtension: { '.js': format === 'esm' ? '.mjs' : '.cjs' },
      logLevel: 'silent',
      plugins: [esbuildPlugin()],
    })

const rollupFor =
  (format: 'es' | 'cjs'): Bundle =>
  async (input) => {
    const bundle = await rollup({
      input: Object.fromEntries(Object.entries(input).map(([name, file]) => [name, at(file)])),
      external: [/^node:/, 'koffi'],
      plugins: [nodeResolve({ preferBuiltins: true }), rollupPlugin()],
      onLog: () => {},
    })
    const extension = format === 'es' ? 'mjs' : 'cjs'
    await bundle.write({
      dir: at('dist'),
      format,
      entryFileNames: `[name].${extension}`,
      chunkFileNames: `parts/[name].${extension}`,
    })
  }

const viteFor: Bundle = (input) =>
  buildWithVite({
    root: directory,
    logLevel: 'silent',
    build: {
      ssr: true,
      outDir: 'dist',
      minify: false,
      rollupOptions: { input: { ...input }, output: { entryFileNames: '[name].mjs' } },
    },
    ssr: { noExternal: true },
    plugins: [rollupPlugin()],
  })

const bundlers: readonly (readonly [name: string, bundle: Bundle, extension: string])[] = [
  ['esbuild, ES modules', esbuildFor('esm'), 'mjs'],
  ['esbuild, CommonJS', esbuildFor('cjs'), 'cjs'],
  ['Rollup, ES modules', rollupFor('es'), 'mjs'],
  ['Rollup, CommonJS', rollupFor('cjs'), 'cjs'],
  ['Vite for servers', viteFor, 'mjs'],
]

describe.each(bundlers)('%s', (_, bundle, extension) => {
  test('bundles run with the libraries that the plugin copied beside them', { timeout: 60_000 }, async () => {
    await bundle({ main: 'src/main.js', 'tools/main': 'src/tools/main.js' })
    // Nothing else is found from there.
    const user = mkdtempSync(join(tmpdir(), 'tenon-user-'))
    mkdirSync(join(user, 'node_modules/@tenon'), { recursive: true })
    symlinkSync(join(root, 'packages/core'), join(user, 'node_modules/@tenon/core'))
    cpSync(at('dist'), join(user, 'dist'), { recursive: true })
    // Deno looks for packages where one is.
    writeFileSync(join(user, 'package.json'), '{}')
    renameSync(at('native'), at('moved'))
    try {
      for (const name of ['main', 'tools/main']) {
        const { stdout, stderr } = await runScript(`await import('./dist/${name}.${extension}')`, { cwd: user })
        expect([stdout, stderr]).toEqual(['1,1,1,1 2,2,2,2 7\n', ''])
      }
    } finally {
      rmSync(user, { recursive: true })
    }
  })

  test('two libraries of one name are refused', { timeout: 60_000 }, async () => {
    cpSync(at('native/libone.so'), at('native/other/libone.so'))
    writeFileSync(at('src/other.js'), "export default new URL('../native/other/libone.so', import.meta.url)")
    writeFileSync(at('src/both.js'), "export * from './one.js'\nexport { default } from './other.js'")
    await expect(bundle({ both: 'src/both.js' })).rejects.toThrow(
      /a bundle cannot contain both .*libone\.so and .*libone\.so/,
    )
  })

  test('URLs of files that do not exist stay as they are', { timeout: 60_000 }, async () => {
    writeFileSync(at('src/absent.js'), "console.log(new URL('../absent/libx.so', import.meta.url).pathname)")
    await bundle({ absent: 'src/absent.js' })
    expect(readdirSync(at('dist')).filter((name) => name.includes('.so'))).toEqual([])
  })
})

test('esbuild takes a module of tenon types in TypeScript, and writes nothing with write: false', async () => {
  writeFileSync(at('src/typed.ts'), "export { add_one } from './one.ts'\nexport const x: number = 1")
  const { outputFiles } = await buildWithEsbuild({
    absWorkingDir: directory,
    entryPoints: ['src/typed.ts'],
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: ['tenon'],
    outdir: 'dist',
    write: false,
    plugins: [esbuildPlugin()],
  })
  expect(outputFiles[0]!.text).toContain('new URL("./libone.so", import.meta.url)')
  expect(existsSync(at('dist'))).toBe(false)
})

test('the plugins have the types that the bundlers expect', () => {
  const plugins: [TypeOfEsbuild, TypeOfRollup, TypeOfVite] = [esbuildPlugin(), rollupPlugin(), rollupPlugin()]
  expect(plugins.map(({ name }) => name)).toEqual(['tenon', 'tenon', 'tenon'])
})
