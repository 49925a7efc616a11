import { spawn } from 'node:child_process'
import {
  copyFileSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { markdownBlocks, type MarkdownBlock } from '@tenon/config/markdown'
import { kernelLibrary } from '@tenon/kernels'
import { tensor, writeNpy } from '../src/index.ts'
import { tenonShellCommand } from './run-tenon.ts'

/** The root of the repository. */
export const root: string = fileURLToPath(new URL('../../..', import.meta.url))

/** A block of a documentation page. */
export interface PageBlock extends MarkdownBlock {
  /** The page and the line of the block, such as `packages/scope/README.md:6`. */
  readonly place: string
  readonly page: string
}

/** The pages whose blocks go on from each other. `stories.test.ts` follows them in order. */
export const stories: readonly string[] = [
  'docs/authoring.md',
  'docs/cookbook/arrow-duckdb.md',
  'docs/bind-package.md',
  'docs/native-builds.md',
]

/** The folder of the pages that need other libraries. `pnpm test:cookbook` installs them, and runs the pages. */
export const cookbook = 'docs/cookbook'

/** The pages of that folder that need nothing else, which run with all other pages. */
const plainRecipes: ReadonlySet<string> = new Set([`${cookbook}/arrow-duckdb.md`, `${cookbook}/safetensors.md`])

/** Whether `pnpm test:cookbook` runs a page. */
export const isRecipe = (page: string): boolean => page.startsWith(`${cookbook}/`) && !plainRecipes.has(page)

const generated = new Set(['node_modules', 'dist', 'CHANGELOG.md'])

/** The pages of the repository: those in its root, in `docs`, and of every package, tool and example. */
export const pages: readonly string[] = globSync(['*.md', '{docs,packages,tools,examples}/**/*.md'], {
  cwd: root,
  exclude: (name) => generated.has(name.split('/').at(-1)!),
}).toSorted()

/** The blocks of all pages. */
export const pageBlocks: readonly PageBlock[] = pages.flatMap((page) =>
  markdownBlocks(readFileSync(join(root, page), 'utf8')).map((block) => ({
    ...block,
    page,
    place: `${page}:${block.line}`,
  })),
)

/**
 * Makes a directory as a reader of the documentation has it. The packages are installed in it, and it has the files that the
 * pages name: the example libraries, arrays, and the folders of the checkout. `drivers` has a simulated CUDA driver, and
 * `bin` the commands that the pages use.
 */
export function readerDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'tenon-reader-'))
  const at = (...names: string[]): string => join(directory, ...names)
  writeFileSync(at('package.json'), JSON.stringify({ type: 'module' }))
  for (const folder of ['node_modules', 'drivers']) mkdirSync(at(folder))
  symlinkSync(join(root, 'packages/tenon'), at('node_modules/tenon'))
  mkdirSync(at('node_modules/@tenon'))
  const parts = join(root, 'packages/tenon/node_modules/@tenon')
  for (const name of readdirSync(parts)) symlinkSync(join(parts, name), at('node_modules/@tenon', name))
  symlinkSync(join(root, 'packages/serve'), at('node_modules/@tenon/serve'))
  symlinkSync(join(root, 'packages/core/node_modules/koffi'), at('node_modules/koffi'))
  symlinkSync(join(root, 'node_modules/@types'), at('node_modules/@types'))
  for (const name of ['esbuild', '@opentelemetry'])
    symlinkSync(join(root, 'packages/tenon/node_modules', name), at('node_modules', name))
  for (const name of ['packages', 'examples', 'fixtures']) symlinkSync(join(root, name), at(name))

  for (const name of ['kernels', 'kernels_runtime', 'packed', 'packed_objects', 'softmax'])
    copyFileSync(kernelLibrary(name), at(`lib${name}.so`))
  copyFileSync(kernelLibrary('simulated_cuda'), at('drivers/libcuda.so.1'))
  copyFileSync(join(root, 'fixtures/kernels/src/cuda/saxpy.ptx'), at('saxpy.ptx'))
  copyFileSync(join(root, 'examples/demo/data/iris.npy'), at('iris.npy'))
  const weights = join(root, 'packages/weights/test/fixtures')
  for (const type of ['safetensors', 'gguf']) copyFileSync(join(weights, `types.${type}`), at(`model.${type}`))
  for (const name of ['shard-00001-of-00002.safetensors', 'shard-00002-of-00002.safetensors'])
    copyFileSync(join(weights, name), at(name))
  copyFileSync(join(weights, 'shard.safetensors.index.json'), at('model.safetensors.index.json'))
  writeNpy(at('x.npy'), tensor('float32', [2, 4], [1, 2, 3, 4, 5, 6, 7, 8]))
  makeCommands(directory)
  return directory
}

/** Writes the C and JSON blocks of a page that are files, as its shell blocks and programs expect them. */
export function writePageFiles(directory: string, page: string): void {
  for (const { attributes, code } of pageBlocks.filter(
    (block) => block.page === page && /^(c|json)$/.test(block.language),
  )) {
    if (attributes['file'] === undefined) continue
    const file = join(directory, attributes['file'])
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, code)
  }
}

/** Writes the commands that the pages use to `bin` of a directory. */
export function makeCommands(directory: string): void {
  mkdirSync(join(directory, 'bin'))
  for (const [name, script] of Object.entries(commands())) {
    writeFileSync(join(directory, 'bin', name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  }
}

/**
 * The commands of the pages. `npx` runs the built `tenon` command. Scripts of the root package.json, which other tests or CI
 * run, must only exist.
 */
function commands(): Record<string, string> {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: object }
  return {
    gcc: `exec ${process.env['CC'] ?? 'cc'} "$@"`,
    npx: `case "$1" in pnpm@12) shift;; esac
name="$1"
shift
case "$name" in
  tenon) exec ${tenonShellCommand} "$@";;
  ${Object.keys(scripts).join('|')}) exit 0;;
esac
echo "npx: the test does not know the command $name" >&2
exit 1`,
    npm: `[ "$1" = install ] || { echo "npm: the test does not know the command $1" >&2; exit 1; }`,
  }
}

/** What a process wrote to stdout and stderr, and its exit code. */
export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program in the directory of a reader. */
export async function runInDirectory(directory: string, program: string, args: readonly string[]): Promise<Ended> {
  const child = spawn(program, args, {
    cwd: directory,
    env: {
      ...process.env,
      NO_COLOR: '1',
      // Readers have an empty cache of compiled sources.
      TENON_CACHE_DIR: join(directory, 'cache'),
      LD_LIBRARY_PATH: join(directory, 'drivers'),
      PATH: `${join(directory, 'bin')}${delimiter}${process.env['PATH']}`,
    },
    timeout: 100_000,
  })
  const [stdout, stderr, code] = await Promise.all([
    child.stdout.setEncoding('utf8').toArray(),
    child.stderr.setEncoding('utf8').toArray(),
    new Promise<number | null>((resolve, reject) => child.on('error', reject).on('close', resolve)),
  ])
  return { code, stdout: stdout.join(''), stderr: stderr.join('') }
}
