import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

import { installRuntime, type TestedRuntime } from '@tenon/config/runtimes'

/** A reader of the guides, who has one runtime. */
export interface Reader {
  /** The commands that the reader writes for those of a guide, which are of Node.js and npm. */
  readonly commands: (code: string) => string
  /** The command that runs a program behind a module of checks. @param code the text of the program */
  readonly program: (checks: string, path: string, code: string) => readonly string[]
  /** The files that a project of the reader has before the first command. */
  readonly files: Readonly<Record<string, string>>
}

/** The reader that the guides are written for. */
export const nodeReader: Reader = {
  commands: (code) => code,
  program: (checks, path) => ['node', '--import', checks, path],
  files: {},
}

/** The permissions that docs/runtimes.md has for calls, isolation, servers, bundlers and files. */
const PERMISSIONS = '--allow-ffi --allow-read --allow-env --allow-sys --allow-net --allow-run --allow-write'

/** Readers who have no Node.js, and write what the table of docs/runtimes.md says. */
export const readers: Readonly<Record<TestedRuntime, Reader>> = {
  bun: {
    commands: (code) =>
      code
        .replaceAll(/\bnpx tenon\b/g, 'bunx --bun tenon')
        .replaceAll(/\bnpm install --save-dev\b/g, 'bun add --dev')
        .replaceAll(/\bnpm install\b/g, 'bun add')
        .replaceAll(/\bnode (?=\S+\.[cm]?[jt]s\b)/g, 'bun '),
    program: (checks, path) => ['bun', '--preload', checks, path],
    files: {},
  },
  deno: {
    commands: (code) =>
      code
        .replaceAll(/\bnpx tenon\b/g, 'deno x tenon')
        .replaceAll(/\bnpm install(?<isDev> --save-dev)?(?<names>( [@\w/-]+)+)/g, (_, isDev, names: string) => {
          const packages = names.trim().replaceAll(/\S+/g, 'npm:$&')
          return `deno add ${isDev === undefined ? '' : '--dev '}${packages}`
        })
        .replaceAll(/\bnode (?=\S+\.[cm]?[jt]s\b)/g, `deno run ${PERMISSIONS} `),
    program: (checks, path, code) => {
      // Deno allows files below /dev to programs alone that may do everything.
      const permissions = code.includes('/dev/shm/') ? '--allow-all' : PERMISSIONS
      return ['deno', 'run', ...permissions.split(' '), '--preload', checks, path]
    },
    // The packages were published seconds ago.
    files: { 'deno.json': '{ "minimumDependencyAge": "0" }' },
  },
}

/** Returns a `PATH` with a runtime, and without Node.js and npm. Its directory is removed at the end of this process. */
export function pathWithout(runtime: TestedRuntime): string {
  const directory = mkdtempSync(join(tmpdir(), 'tenon-path-'))
  process.on('exit', () => rmSync(directory, { recursive: true }))
  symlinkSync(installRuntime(runtime), join(directory, runtime))
  if (runtime === 'bun') symlinkSync(runtime, join(directory, 'bunx'))
  for (const name of ['node', 'npm', 'npx'])
    writeFileSync(join(directory, name), `#!/bin/sh\necho "${name} is not installed" >&2\nexit 127\n`, { mode: 0o755 })
  return [directory, process.env['PATH']].join(delimiter)
}
