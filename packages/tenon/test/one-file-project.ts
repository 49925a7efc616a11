import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { adding, install, makeProject, projectFiles } from './kernel-project.ts'
import { runTenon } from './run-tenon.ts'
import { compileLibrary } from './signature-library.ts'

/**
 * A program with a library of each kind that a bundle can contain: one of a module of `tenon types`, one with a sidecar, one of `tenon bind`,
 * those of a project of `tenon build`, those of a package of `tenon pack`, and one that isolated kernels run in. It prints {@link expected}, or
 * fails.
 */
const program = `
import { writeFileSync } from 'node:fs'
import { Library, tensor } from 'tenon'
import { add_one } from './one.js'
import { count } from './count/index.js'
import { add_two } from '../built/dist/index.js'
import { add_one as packed } from '@me/adders'

const nothing = () => tensor('f32', [4])
const first = (result) => result.toArray()[0]

async function main() {
  const two = Library.open(new URL('../native/lib%20two.so', import.meta.url)).kernel('add_two')
  console.log(first(add_one(nothing())), first(two(nothing())), count(), first(add_two(nothing())), first(packed(nothing())))
  const isolated = await Library.isolate(new URL('../native/libone.so', import.meta.url), { workers: 1 })
  console.log(first(isolated.kernel('add_one')(nothing())), first(await isolated.kernel('add_one').async(nothing())))
  const crashing = await Library.isolate(new URL('../native/libcrash.so', import.meta.url), { workers: 1 })
  const { name } = await crashing.kernel('crash').async(nothing()).catch((error) => error)
  console.log(name, first(await crashing.kernel('add_three').async(nothing())))
  writeFileSync('kernels.mjs', 'export function kernel() {}')
  const functions = await Library.isolate('./kernels.mjs', { host: 'node' }).catch((error) => error)
  console.log(functions.name, functions.hint)
  await Promise.all([isolated.closeAsync(), crashing.closeAsync()])
}
main()
`

/** The output of the program. */
export const expected = `1 2 7 2 1
1 1
KernelCrashError 3
UnsupportedError Isolate a native library, which works there, or make the bundle with libraries: 'beside'.
`

const crash = `${adding('add_three', 3)}
TN_SIGNATURE(crash, "(x: f32[4]) -> (y: f32[4])");
TN_XLA_MARK_HOST(crash);
TN_XLA_EXPORT void crash(void *out, const void **in);
void crash(void *out, const void **in) { *(volatile int *)8 = 1; }
`

/** The folder of the program, and the path of its source in it. */
export interface OneFileProject {
  readonly directory: string
  readonly source: string
  /** Removes the folder. */
  remove(): void
}

/** Writes the program and its libraries. @throws {Error} with the output of a command that fails */
export function makeOneFileProject(): OneFileProject {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'tenon-one-file-')))
  const at = (...names: string[]): string => join(directory, ...names)
  install(directory)
  for (const folder of ['native', 'src']) mkdirSync(at(folder))
  compileLibrary(at('native'), adding('add_one', 1), 'libone.so')
  compileLibrary(at('native'), crash, 'libcrash.so')
  compileLibrary(at('native'), adding('add_two', 2).replace(/^TN_SIGNATURE.*$/m, ''), 'lib two.so')
  const kernels = { add_two: { signature: '(x: f32[4]) -> (y: f32[4])', convention: 'host' } }
  writeFileSync(at('native/lib two.tenon.json'), JSON.stringify({ tenon: 1, kernels }))
  run(directory, 'types', 'native/libone.so', '--output', 'src/one.js')
  compileLibrary(at('native'), 'int count(void) { return 7; }', 'lib#count.so')
  writeFileSync(at('native/count.h'), 'int count(void);\n')
  run(directory, 'bind', 'native/count.h', '--library', 'native/lib#count.so', '--output', 'src/count')
  const project = makeProject(projectFiles())
  run(project, 'build')
  cpSync(project, at('built'), { recursive: true, verbatimSymlinks: true })
  run(project, 'pack')
  installPacked(join(project, 'dist/npm'), at('node_modules'))
  rmSync(project, { recursive: true })
  writeFileSync(at('src/main.js'), program)
  return { directory, source: at('src/main.js'), remove: () => rmSync(directory, { recursive: true }) }
}

/** Copies the packages below a folder to the places that their names have in `node_modules`. */
function installPacked(from: string, nodeModules: string): void {
  for (const path of readdirSync(from, { recursive: true, encoding: 'utf8' })) {
    if (!/(?:^|[/\\])package\.json$/.test(path)) continue
    const { name } = JSON.parse(readFileSync(join(from, path), 'utf8')) as { name: string }
    cpSync(join(from, dirname(path)), join(nodeModules, name), { recursive: true })
  }
}

function run(cwd: string, ...args: string[]): void {
  const { code, stdout, stderr } = runTenon(args, { cwd })
  if (code !== 0) throw new Error(`tenon ${args.join(' ')} in ${cwd} failed:\n${stdout}${stderr}`)
}
