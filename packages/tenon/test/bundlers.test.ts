import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nodeResolve } from '@rollup/plugin-node-resolve'
import { kernelLibrary } from '@tenon/kernels'
import { build as buildWithEsbuild } from 'esbuild'
import { rollup } from 'rollup'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { build as buildWithVite } from 'vite'
import { root } from './reader.ts'

const program = `
import { Library, tensor } from 'tenon'
import { NativeScope } from 'tenon/scope'

const softmax = Library.open(${JSON.stringify(kernelLibrary('softmax'))}).kernel('softmax')
NativeScope.ofConfined().run((scope) => {
  console.log(softmax(tensor([[1, 1]]), {}, { allocator: scope }).toArray().join(' '))
})
`

const strings = `
import { Library, tensor } from 'tenon'
import 'tenon/tstring'

const decorate = Library.open(${JSON.stringify(kernelLibrary('tf_kernels'))}).kernel('Decorate')
const { segment } = tensor('u8', [24], [4, 97, ...new Array(22).fill(0)])
const result = decorate({ layout: 'tf', shape: [1], segment })
console.log(result.get(0))
`

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-bundle-'))
  mkdirSync(join(directory, 'node_modules/@tenon'), { recursive: true })
  symlinkSync(join(root, 'packages/tenon'), join(directory, 'node_modules/tenon'))
  symlinkSync(join(root, 'packages/core'), join(directory, 'node_modules/@tenon/core'))
  // Deno looks for packages where one is.
  writeFileSync(join(directory, 'package.json'), '{}')
  writeFileSync(join(directory, 'program.mjs'), program)
  writeFileSync(join(directory, 'strings.mjs'), strings)
})
afterAll(() => rmSync(directory, { recursive: true }))

const at = (name: string): string => join(directory, name)

/** Runs a bundle, and returns what it printed, or the first line of its error. */
function run(file: string): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, [at(file)], { cwd: directory }, (error, stdout, stderr) => {
      resolve(error === null ? stdout.trim() : (/^\w*Error.*(?:\nHint: .*)?/m.exec(stderr)?.[0] ?? stderr))
    })
  })
}

/** A bundle of the program: `isOutside` leaves the core out of it. */
type Bundle = (isOutside: boolean, program?: string) => Promise<string>

const withEsbuild =
  (format: 'esm' | 'cjs'): Bundle =>
  async (isOutside, name = 'program') => {
    const file = `esbuild-${name}-${isOutside}.${format === 'esm' ? 'mjs' : 'cjs'}`
    const external = isOutside ? ['@tenon/core'] : []
    const entryPoints = [at(`${name}.mjs`)]
    await buildWithEsbuild({
      entryPoints,
      bundle: true,
      platform: 'node',
      format,
      external,
      outfile: at(file),
      logLevel: 'error',
    })
    return file
  }

const withRollup: Bundle = async (isOutside, name = 'program') => {
  const file = `rollup-${name}-${isOutside}.mjs`
  const bundle = await rollup({
    input: at(`${name}.mjs`),
    external: [/^node:/, 'koffi', ...(isOutside ? [/^@tenon\/core(\/|$)/] : [])],
    plugins: [nodeResolve({ preferBuiltins: true })],
    onLog: () => {},
  })
  await bundle.write({ file: at(file), format: 'es', inlineDynamicImports: true })
  return file
}

const withVite: Bundle = async (isOutside, name = 'program') => {
  const outDir = `vite-${isOutside}`
  await buildWithVite({
    root: directory,
    logLevel: 'error',
    build: { ssr: `${name}.mjs`, outDir, minify: false },
    ssr: { noExternal: ['tenon', ...(isOutside ? [] : [/^@tenon\//])], external: isOutside ? ['@tenon/core'] : [] },
  })
  return `${outDir}/${name}.mjs`
}

describe.each([
  ['esbuild, ES modules', withEsbuild('esm')],
  ['esbuild, CommonJS', withEsbuild('cjs')],
  ['Rollup', withRollup],
  ['Vite for servers', withVite],
] as const)('%s', (_, bundle) => {
  test('a bundle without the core runs, as the page on deployment says', { timeout: 60_000 }, async () => {
    expect(await run(await bundle(true))).toBe('0.5 0.5')
  })

  test(
    'a bundle has the class of string results if the program imports tenon/tstring',
    { timeout: 60_000 },
    async () => {
      // The directory of the bundles has no @tenon/tstring.
      expect(await run(await bundle(true, 'strings'))).toBe('a!')
    },
  )

  test('a bundle with the core says to leave it out', { timeout: 60_000 }, async () => {
    expect(await run(await bundle(false))).toBe(
      "LoadError: the package.json of @tenon/core was not found\nHint: Mark @tenon/core as external, so that it is not bundled, or use a plugin of tenon/bundler with libraries: 'inside'.",
    )
  })
})
