import { createHash } from 'node:crypto'
import { accessSync, closeSync, constants, openSync, readSync, statSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'

import { hostPlatform } from '../platform.ts'
import { compilerNames, installHints } from '../toolchain.ts'
import type { Cache } from './cache.ts'
import { CompileError } from './compile-error.ts'
import type { CompileRequest } from './options.ts'
import type { Ended, Steps } from './run-program.ts'

/** A compiler, and the output that identifies it. */
export interface FoundCompiler {
  /** The absolute path of the program. */
  readonly file: string
  /** The arguments that follow the program in `CC`. */
  readonly args: readonly string[]
  /** The output of `--version`, and the machine for which it compiles. */
  readonly version: string
}

/** The variables with which compilers write English messages, which `parseDiagnostics()` can parse. */
export const compilerEnvironment: NodeJS.ProcessEnv = { LC_ALL: 'C' }

/** The output that identifies each compiler, by the digest of its path, arguments and file status. */
const versions = new Map<string, string>()

/**
 * Finds the compiler of a request. The compiler is asked for its version once, and the answer is cached until the file of the compiler changes.
 *
 * @throws {CompileError} that says what to install
 */
export function* findCompiler(request: CompileRequest, cache: Cache): Steps<FoundCompiler> {
  const { variable, command, chosen } = chooseCommand(request)
  // A path may contain spaces, so the whole command is tried as a path first.
  const wholePath = programPath(command)
  const [name = '', ...args] = wholePath === undefined ? command.trim().split(/\s+/) : [command]
  const file = wholePath ?? programPath(name)
  const origin = chosen ? `${variable} is ${command}` : `${variable} is not set, so ${command} was tried`
  if (file === undefined) throw missing(request, name, origin)
  const { size, mtimeMs, ino } = statSync(file)
  const id = createHash('sha256')
    .update(JSON.stringify([file, args, size, mtimeMs, ino]))
    .digest('hex')
    .slice(0, 32)
  // A script may run a different compiler later, so its version is not cached.
  const isProgram = !isScript(file)
  const known = isProgram ? (versions.get(id) ?? cache.readCompiler(id)) : undefined
  if (known !== undefined) {
    versions.set(id, known)
    return { file, args, version: known }
  }
  const version = yield* askVersion(request, file, args, origin)
  versions.set(id, version)
  if (isProgram) cache.writeCompiler(id, version)
  return { file, args, version }
}

function chooseCommand({ language, compiler }: CompileRequest): {
  readonly variable: string
  readonly command: string
  readonly chosen: boolean
} {
  const { variable, unix, windows } = namesOf(language)
  if (compiler !== undefined) return { variable: 'the option compiler', command: compiler, chosen: true }
  const fromVariable = process.env[variable]?.trim()
  if (fromVariable) return { variable, command: fromVariable, chosen: true }
  return { variable, command: hostPlatform.os === 'win32' ? windows : unix, chosen: false }
}

function namesOf(language: CompileRequest['language']): {
  readonly variable: string
  readonly unix: string
  readonly windows: string
  readonly name: string
} {
  return language === 'cuda'
    ? { variable: 'NVCC', unix: 'nvcc', windows: 'nvcc', name: 'CUDA' }
    : compilerNames[language]
}

/** Returns the absolute path of a program, which is searched for in `PATH` if it is a bare name. */
function programPath(command: string): string | undefined {
  const suffixes = hostPlatform.os === 'win32' ? ['', '.exe'] : ['']
  const isPath = /[/\\]/.test(command)
  const directories = isPath
    ? ['']
    : (process.env['PATH'] ?? '').split(delimiter).filter((directory) => directory !== '')
  const candidates = directories.flatMap((directory) => suffixes.map((suffix) => join(directory, command + suffix)))
  return candidates.map((path) => resolve(path)).find(isRunnable)
}

/** Whether a path is a file that this user can run. Directories of `PATH` may be unreadable. */
function isRunnable(path: string): boolean {
  try {
    const stats = statSync(path)
    if (!stats.isFile()) return false
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function isScript(path: string): boolean {
  try {
    const descriptor = openSync(path, 'r')
    try {
      const begin = Buffer.alloc(2)
      readSync(descriptor, begin)
      return begin.toString('latin1') === '#!'
    } finally {
      closeSync(descriptor)
    }
  } catch {
    // The file can be executable but not readable.
    return true
  }
}

function* askVersion(request: CompileRequest, file: string, args: readonly string[], origin: string): Steps<string> {
  const env = { ...process.env, ...compilerEnvironment }
  const ask = (flag: string) => ({ file, args: [...args, flag], env, timeout: request.timeout })
  const version: Ended = yield ask('--version')
  const command = [file, ...args, '--version']
  if (version.error !== undefined) {
    throw new CompileError(`${file} could not be run: ${version.error.code ?? version.error.message} (${origin})`, {
      hint: hintFor(request),
      command,
      cause: version.error,
    })
  }
  if (version.code !== 0) {
    const reason = version.isTimedOut ? 'did not end in time' : 'failed'
    throw new CompileError(`${command.join(' ')} ${reason}, so it is not a compiler that Tenon knows (${origin})`, {
      hint: hintFor(request),
      command,
      output: version.output,
    })
  }
  const machine: Ended | undefined = request.language === 'cuda' ? undefined : yield ask('-dumpmachine')
  return `${version.stdout}${machine?.stdout ?? ''}`
}

function missing(request: CompileRequest, command: string, origin: string): CompileError {
  const { name } = namesOf(request.language)
  return new CompileError(`a ${name} compiler is needed, and ${command} was not found (${origin})`, {
    hint: hintFor(request),
    details: { received: command },
  })
}

function hintFor({ language }: CompileRequest): string {
  const { variable } = namesOf(language)
  const install =
    language === 'cuda'
      ? 'the CUDA toolkit (https://developer.nvidia.com/cuda-downloads)'
      : `a compiler (${installHints[hostPlatform.os]})`
  return `Install ${install}, or set ${variable} to the command of one.`
}
