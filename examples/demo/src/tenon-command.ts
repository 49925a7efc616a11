import { spawnSync } from 'node:child_process'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The built command of the `tenon` package. */
const program = fileURLToPath(new URL('cli.cjs', import.meta.resolve('tenon')))

export interface Finished {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs the `tenon` command in a new process. @throws {Error} if its exit code is not `expectedCode` */
export function tenon(directory: string, args: readonly string[], expectedCode = 0): Finished {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
    cwd: directory,
    encoding: 'utf8',
  })
  if (status !== expectedCode)
    throw new Error(`tenon ${args.join(' ')} ended with ${status}, not ${expectedCode}:\n${stderr}`)
  return { code: status, stdout, stderr }
}

/** Formats the command line for display, with file names instead of paths. */
export function commandLine(args: readonly string[]): string {
  return `$ tenon ${args.map((arg) => (/[\s;|&[\]]/.test(arg) ? `'${arg}'` : arg.startsWith('/') ? basename(arg) : arg)).join(' ')}`
}
