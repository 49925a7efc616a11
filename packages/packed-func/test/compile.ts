import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const directory = mkdtempSync(join(tmpdir(), 'tenon-packed-'))

/** Compiles a library from C, in a directory of the test file. `name` can have directories. Returns its path. */
export function compileLibrary(name: string, source: string, flags: readonly string[] = []): string {
  const path = join(directory, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(`${path}.c`, source)
  execFileSync(process.env['CC'] ?? 'cc', ['-shared', '-fPIC', '-o', path, `${path}.c`, ...flags])
  return path
}
