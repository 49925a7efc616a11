import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cSources, faultSources } from './fault-sources.ts'

const run = promisify(execFile)

/** Writes the sources with faults to a directory, and returns their names. */
export function writeFaultSources(directory: string): string[] {
  mkdirSync(join(directory, 'sub'), { recursive: true })
  writeFileSync(join(directory, 'sub/inner.h'), cSources['inner.h']!)
  writeFileSync(join(directory, 'faults.c'), cSources['faults.c']!)
  for (const [name, text] of faultSources()) writeFileSync(join(directory, name), text)
  return ['faults.c', ...faultSources().keys()]
}

/**
 * Compiles one of the sources in its directory into a shared library. Returns the path.
 *
 * @param more other files and options for the linker
 */
export async function compileFaults(
  directory: string,
  source: string,
  flags: readonly string[],
  compiler?: string,
  more: readonly string[] = [],
): Promise<string> {
  const isC = source.endsWith('.c')
  const program = compiler ?? (isC ? (process.env['CC'] ?? 'gcc') : (process.env['CXX'] ?? 'g++'))
  const path = join(directory, `${source}${compiler?.replaceAll('/', '-') ?? ''}${flags.join('')}.so`)
  await run(program, ['-w', '-shared', '-fPIC', '-Wl,--build-id', ...flags, '-o', path, source, ...more], {
    cwd: directory,
  })
  return path
}

/**
 * Moves the debug information of a library to a file of its own, `<path>.debug`, which the library names.
 *
 * @param prefix of the tools for the processor of the library
 */
export async function splitDebugFile(path: string, prefix = ''): Promise<string> {
  const debugPath = `${path}.debug`
  await run(`${prefix}objcopy`, ['--only-keep-debug', path, debugPath])
  await run(`${prefix}objcopy`, ['--strip-all', `--add-gnu-debuglink=${debugPath}`, path])
  return debugPath
}
