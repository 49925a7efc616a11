import { execFileSync, spawnSync } from 'node:child_process'
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { kernelLibrary } from '@tenon/kernels'

export const root: string = fileURLToPath(new URL('..', import.meta.url))
export const sources: readonly string[] = globSync('csrc/*', { cwd: root }).toSorted()
export const isForGpu = (source: string): boolean => extname(source) === '.cu'

export const nvcc: string | undefined = ['nvcc', '/usr/local/cuda/bin/nvcc'].find(
  (path) => spawnSync(path, ['--version']).status === 0,
)

const include = fileURLToPath(new URL('../../../packages/core/include', import.meta.url))

function compile(directory: string, source: string, command: string, flags: readonly string[]): void {
  const library = join(directory, `lib${basename(source, extname(source))}.so`)
  // Libraries that are preloaded here must not be loaded by compilers.
  const env = { ...process.env, LD_PRELOAD: '' }
  execFileSync(command, [source, ...flags, '-shared', '-I', include, '-o', library], { stdio: 'inherit', env })
}

const warnings = ['-O1', '-Wall', '-Wextra', '-Werror', '-fPIC']
const compiler = process.env['CXX'] ?? 'c++'

/** Compiles a source in C or C++. */
export function compileForHost(directory: string, source: string): void {
  if (extname(source) === '.c') compile(directory, join(root, source), process.env['CC'] ?? 'cc', warnings)
  else compile(directory, join(root, source), compiler, [...warnings, '-std=c++17'])
}

/** Compiles a source in CUDA C++ with nvcc. */
export function compileForGpu(directory: string, source: string): void {
  if (nvcc === undefined) throw new Error('the examples in CUDA C++ must be compiled by nvcc, which is not installed')
  compile(directory, join(root, source), nvcc, ['-O1', '-std=c++17', '-Xcompiler', '-fPIC'])
}

/** Compiles a source in CUDA C++ for the simulated device: see simulated/cuda_runtime.h. */
export function compileForSimulation(directory: string, source: string): void {
  const text = readFileSync(join(root, source), 'utf8')
  const simulated = join(directory, 'simulated', `${basename(source, '.cu')}.cc`)
  mkdirSync(dirname(simulated), { recursive: true })
  writeFileSync(simulated, text.replaceAll(/(\w+)<<<([^]*?)>>>\(/g, 'simulated_launch($1, $2)('))
  const driver = kernelLibrary('simulated_cuda')
  const link = [driver, `-Wl,-rpath,${dirname(driver)}`]
  compile(directory, simulated, compiler, [...warnings, '-std=c++17', '-I', join(root, 'test/simulated'), ...link])
}
