import { removeQuietly } from '@tenon/binary/private-directory'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { architecturesOf } from '../cuda.ts'
import { describeEnd } from '../run-command.ts'
import { hostPlatform } from '../platform.ts'
import { Cache } from './cache.ts'
import { unusable } from './cache-directory.ts'
import { type InlineCommand, planCommand } from './command.ts'
import { CompileError } from './compile-error.ts'
import { describeErrors, type Diagnostic, parseDiagnostics } from './diagnostics.ts'
import { compilerEnvironment, findCompiler, type FoundCompiler } from './find-compiler.ts'
import { findHeaders, hashHeaderFiles } from './headers.ts'
import { type CompileOptions, type CompileRequest, extensionOf, readOptions } from './options.ts'
import { type Ended, runSteps, runStepsSync, type Steps } from './run-program.ts'

/** A compiled source. */
export interface Compiled {
  /** The absolute path of the library. */
  readonly path: string
  /** Whether the library was in the cache. */
  readonly cached: boolean
  /** The 32 hexadecimal digits by which the cache knows the library. */
  readonly key: string
  /** The warnings of the compiler, also those of a library from the cache. */
  readonly warnings: readonly Diagnostic[]
}

/**
 * Compiles a source in C, C++ or CUDA to a shared library, or finds the library in the cache. The library is compiled again when the source,
 * an option, the compiler or a header of Tenon or of `includes` changes. Headers of the system are not compared.
 *
 * @throws (rejects with) {CompileError} with the messages of the compiler; also if there is no compiler, it does not end within `timeout`,
 * or the cache cannot be used
 * @throws (rejects with) {TenonError} with the code TENON_ARGUMENT if an argument is not valid
 * @throws (rejects with) the reason of `signal` when it is aborted
 * @example
 * const { path } = await compile('int answer(void) { return 42; }')
 */
export async function compile(source: string, options?: CompileOptions): Promise<Compiled> {
  const request = readOptions(source, options)
  request.signal?.throwIfAborted()
  return runSteps(compileSteps(request), request.signal)
}

/**
 * Compiles a source like {@link compile}, and blocks the thread until the library is there.
 *
 * @throws {CompileError} as `compile`. @throws {TenonError} with the code TENON_ARGUMENT if an argument is not valid
 * @throws the reason of `signal` if it is aborted already
 * @example
 * const { path } = compileSync('int answer(void) { return 42; }')
 */
export function compileSync(source: string, options?: CompileOptions): Compiled {
  const request = readOptions(source, options)
  request.signal?.throwIfAborted()
  return runStepsSync(compileSteps(request))
}

/** Changes when libraries are compiled in another way. */
const format = 1

/** The variables that change what gcc, clang and nvcc do. */
const variables = [
  'CPATH',
  'C_INCLUDE_PATH',
  'CPLUS_INCLUDE_PATH',
  'LIBRARY_PATH',
  'GCC_EXEC_PREFIX',
  'COMPILER_PATH',
  'SDKROOT',
  'MACOSX_DEPLOYMENT_TARGET',
  'SOURCE_DATE_EPOCH',
  'NVCC_PREPEND_FLAGS',
  'NVCC_APPEND_FLAGS',
  'NVCC_CCBIN',
]

function* compileSteps(request: CompileRequest): Steps<Compiled> {
  const cache = new Cache(request.cacheDirectory)
  const compiler = yield* findCompiler(request, cache)
  const headers = findHeaders()
  const command = planCommand(request, compiler, headers, yield* findArchitectures(request))
  const key = keyOf(request, compiler, command, hashHeaderFiles([...request.includes, ...(headers ? [headers] : [])]))
  const found = cache.find(key, command.fileName)
  if (found !== undefined) return { ...found, cached: true, key }
  const directory = cache.makeDirectory()
  try {
    const warnings = yield* build(request, compiler, command, directory)
    const entry = cache.publish(key, directory, command.fileName, warnings)
    cache.prune()
    return { ...entry, cached: false, key }
  } finally {
    removeQuietly(directory)
  }
}

function keyOf(request: CompileRequest, compiler: FoundCompiler, command: InlineCommand, headers: string): string {
  const { source, language, name } = request
  const { os, cpu, libc = null } = hostPlatform
  const fields = [
    format,
    [os, cpu, libc],
    [compiler.file, compiler.args, compiler.version],
    [command.compile, command.link],
    variables.map((variable) => process.env[variable] ?? null),
    headers,
    language,
    name,
    source,
  ]
  return createHash('sha256').update(JSON.stringify(fields)).digest('hex').slice(0, 32)
}

let gpus: readonly string[] | undefined

/** Returns the architectures of the GPUs of this machine. If there is none, nvcc takes its default. */
function* findArchitectures({ language, timeout }: CompileRequest): Steps<readonly string[]> {
  if (language !== 'cuda') return []
  if (gpus !== undefined) return gpus
  const args = ['--query-gpu=compute_cap', '--format=csv,noheader']
  const { code, stdout } = yield { file: 'nvidia-smi', args, env: process.env, timeout }
  gpus = code === 0 ? architecturesOf(stdout) : []
  return gpus
}

function* build(
  request: CompileRequest,
  compiler: FoundCompiler,
  command: InlineCommand,
  directory: string,
): Steps<Diagnostic[]> {
  const { source, name, language, timeout } = request
  const path = join(directory, `source${extensionOf[language]}`)
  const output = join(directory, command.fileName)
  try {
    writeFileSync(path, `#line 1 ${JSON.stringify(name)}\n${source}\n`)
  } catch (error) {
    throw unusable(directory, `cannot be written: ${(error as Error).message}`, error)
  }
  const args = [...compiler.args, ...command.compile, '-o', output, path, ...command.link]
  const env = { ...process.env, ...compilerEnvironment, TMPDIR: directory }
  const ended: Ended = yield { file: compiler.file, args, env, timeout }
  const diagnostics = parseDiagnostics(ended.output, path, name)
  if (ended.code !== 0) throw failureOf(request, ended, diagnostics, [compiler.file, ...args])
  return diagnostics.filter(({ severity }) => severity === 'warning')
}

function failureOf(
  request: CompileRequest,
  ended: Ended,
  diagnostics: readonly Diagnostic[],
  command: readonly string[],
): CompileError {
  const { output, isTimedOut, error } = ended
  const failure = { diagnostics, command, output }
  const [compiler] = command
  if (isTimedOut) {
    return new CompileError(`${request.name}: the compiler did not end within ${request.timeout} ms`, {
      ...failure,
      hint: 'Increase the option timeout, or make the source smaller.',
    })
  }
  if (error !== undefined)
    return new CompileError(`${compiler} could not be run: ${error.code ?? error.message}`, {
      ...failure,
      cause: error,
    })
  const errors = describeErrors(diagnostics, request.source, request.name)
  if (errors !== undefined) {
    const lacksTenon = findHeaders() === undefined && /tenon\/\w+\.h/.test(errors)
    return new CompileError(errors, {
      ...failure,
      ...(lacksTenon ? { hint: 'Install Tenon, which has these headers: npm install tenon' } : {}),
    })
  }
  const lines = output.trim().split(/\r?\n/).slice(0, 20).join('\n').slice(0, 4000)
  const text = lines === '' ? '' : `\n${lines}`
  return new CompileError(
    `${request.name}: ${compiler} failed with ${describeEnd({ ...ended, stderr: '' })}${text}`,
    failure,
  )
}
