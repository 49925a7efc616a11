/**
 * The command `pnpm test:cookbook [word]`, which installs the libraries of docs/cookbook in that folder, and runs the programs of its pages
 * with them. It also checks the tables of the cookbook: what Tenon and each library promise each other. A word selects the pages whose names
 * contain it; `pairs` selects the tables.
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { check, report, type Outcome } from '@tenon/config/conformance'
import { toJavaScript, withChecks } from '@tenon/config/example-code'
import { installDuckdb } from '../../arrow/conformance/install-duckdb.ts'
import {
  cookbook,
  isRecipe,
  pageBlocks,
  readerDirectory,
  root,
  runInDirectory,
  writePageFiles,
} from '../test/reader.ts'
import { checkPairs, type Libraries } from './pairs.ts'

const folder = join(root, cookbook)
execFileSync('pnpm', ['install', '--frozen-lockfile'], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })

/** The names of installed packages, those of scopes with their scope. */
const installed = readdirSync(join(folder, 'node_modules'))
  .filter((name) => !name.startsWith('.'))
  .flatMap((name) =>
    name.startsWith('@') ? readdirSync(join(folder, 'node_modules', name)).map((one) => `${name}/${one}`) : [name],
  )

const importChecks = `import ${JSON.stringify(new URL('../test/fixtures/check-values.js', import.meta.url).href)};`

/** Calls a function with the directory of a reader who has installed the libraries. */
async function withLibraries<Result>(use: (directory: string) => Promise<Result>): Promise<Result> {
  const directory = readerDirectory()
  try {
    for (const name of installed) {
      const link = join(directory, 'node_modules', name)
      mkdirSync(dirname(link), { recursive: true })
      symlinkSync(join(folder, 'node_modules', name), link)
    }
    return await use(directory)
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** Runs the commands and the programs of a page in a directory of its own. */
const runPage = (page: string): Promise<void> =>
  withLibraries(async (directory) => {
    writePageFiles(directory, page)
    const blocks = pageBlocks.filter((block) => block.page === page)
    for (const { language, code } of blocks) {
      if (language === 'sh') await succeed(directory, 'sh', ['-e', '-c', code])
    }
    for (const { language, code, attributes, line } of blocks) {
      if (language !== 'ts') continue
      const { file } = attributes
      if (file === undefined) {
        const program = `${importChecks}${await toJavaScript(withChecks(code))}`
        writeFileSync(join(directory, `line-${line}.js`), program)
      } else writeFileSync(join(directory, file), await toJavaScript(code))
    }
    for (const { language, attributes, line } of blocks) {
      if (language === 'ts' && attributes['file'] === undefined)
        await succeed(directory, process.execPath, [`line-${line}.js`])
    }
  })

/** @throws {Error} with the output of a program that fails. */
async function succeed(directory: string, program: string, args: readonly string[]): Promise<void> {
  const { code, stdout, stderr } = await runInDirectory(directory, program, args)
  if (code !== 0) throw new Error(`${args.at(-1)} ended with ${code}\n${stdout}${stderr}`)
}

/** The libraries whose promises are checked. Their programs have these names behind `pair-`. */
const libraries: Libraries = {
  onnxruntime: 'onnxruntime',
  tfjs: 'TensorFlow.js',
  arrow: 'apache-arrow',
  duckdb: 'DuckDB',
  polars: 'nodejs-polars',
  ndarray: 'ndarray',
  sharp: 'sharp',
  pngjs: 'pngjs',
  'image-data': 'ImageData',
  webassembly: 'WebAssembly',
  shared: 'SharedArrayBuffer',
}

/** Installs DuckDB in the folder of a reader, and compiles the function with which it tells addresses. */
async function prepareDuckdb(directory: string): Promise<void> {
  const [programs, adbc] = ['programs', '../../arrow/conformance/programs/adbc.ts'].map((name) =>
    fileURLToPath(new URL(name, import.meta.url)),
  )
  copyFileSync(adbc!, join(directory, 'adbc.ts'))
  writeFileSync(
    join(directory, 'duckdb.ts'),
    pageBlocks.find(({ attributes }) => attributes['file'] === 'duckdb.ts')!.code,
  )
  installDuckdb(directory)
  const duckdb = join(directory, 'node_modules/@duckdb/node-bindings-linux-x64')
  const source = join(programs!, 'duckdb-address.c')
  const linked = [source, '-L', duckdb, '-lduckdb', `-Wl,-rpath,${duckdb}`]
  await succeed(directory, 'gcc', ['-shared', '-fPIC', '-o', 'libduckdb-address.so', ...linked])
}

const word = process.argv[2] ?? ''
const pages = new Set(pageBlocks.map(({ page }) => page).filter(isRecipe))
const outcomes: Outcome[] = []
for (const page of pages) if (page.includes(word)) outcomes.push(await check(page, () => runPage(page)))
if ('pairs'.includes(word)) {
  const checked = withLibraries(async (directory) => {
    await prepareDuckdb(directory)
    return checkPairs(directory, libraries)
  })
  outcomes.push(...(await checked))
}
report(outcomes)
