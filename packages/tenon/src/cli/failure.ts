import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { IsolationError, NativeError, TenonError } from '@tenon/core'
import { CudaError, VersionSkewError, XlaError } from '@tenon/custom-call'
import { CONTRADICTION } from '@tenon/custom-call/internal'
import { PackedFuncError } from '@tenon/packed-func'
import { InputError } from './input-error.ts'
import { printable, printTalk, styleFor } from './terminal.ts'
import { UsageError } from './usage-error.ts'

/** The exit codes of the command. They are stable, so that scripts can rely on them. */
export const ExitCode = { ok: 0, userError: 1, usage: 2, kernelFailed: 3, notDrained: 4, interrupted: 130 } as const
export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode]

/** The stack trace is printed only with `TENON_DEBUG=stack`. */
export function reportFailure(error: unknown, command: string): ExitCode {
  const { text, hint, code } = explain(error)
  printTalk(`${styleFor(process.stderr).bad(command)}: ${printable(text)}`)
  for (const line of crashLines(error)) printTalk(`  ${printable(line)}`)
  if (hint !== undefined) printTalk(`hint: ${printable(hint)}`)
  if (process.env['TENON_DEBUG']?.split(',').includes('stack') && error instanceof Error) printTalk(error.stack ?? '')
  return code
}

/** The most functions of a crash that are printed. A full stack has the same one again and again. */
const MOST_FUNCTIONS = 16

/** The lines about a kernel that crashed: its functions, innermost first, its arguments, and the core file. */
function crashLines(error: unknown): readonly string[] {
  if (!(error instanceof IsolationError) || error.code !== 'TENON_KERNEL_CRASH') return []
  const { backtrace, arguments: args, coreFile, debugger: command } = error.details
  const functions = listOf(backtrace)
  const rest = functions.length - MOST_FUNCTIONS
  return [
    ...functions.slice(0, MOST_FUNCTIONS).map((line) => `at ${line}`),
    ...(rest > 0 ? [`and ${rest} more functions, which --json prints`] : []),
    ...(listOf(args).length === 0 ? [] : [`arguments: ${listOf(args).join(', ')}`]),
    ...(typeof coreFile === 'string' ? [`core file: ${coreFile}`] : []),
    ...(typeof command === 'string' ? [`debugger: ${command}`] : []),
  ]
}

const listOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : [])

interface Explanation {
  readonly text: string
  readonly hint: string | undefined
  readonly code: ExitCode
}

function explain(error: unknown): Explanation {
  if (error instanceof UsageError) return { text: error.message, hint: error.hint, code: ExitCode.usage }
  if (error instanceof InputError) return { text: error.message, hint: error.hint, code: ExitCode.userError }
  if (error instanceof Error && error.name === 'ToolError')
    return { ...splitHint(error.message), code: ExitCode.userError }
  if (error instanceof TenonError) return { text: error.sentence, hint: hintFor(error), code: exitCodeOf(error) }
  if (isSystemError(error)) return { text: systemText(error), hint: undefined, code: ExitCode.userError }
  return {
    text: `unexpected: ${error instanceof Error ? error.message : String(error)}`,
    hint: 'This is a defect of tenon. Run it again with TENON_DEBUG=stack, and report the output.',
    code: ExitCode.userError,
  }
}

const missingLibrary =
  'Add the library that has these functions to libraries: [...] of tenon.config.ts, such as m for those of math.h, or add the source.'

/** Errors of the build tool, which may be another copy of it, have their instruction in the last lines. */
function splitHint(message: string): Pick<Explanation, 'text' | 'hint'> {
  if (/undefined reference to|undefined symbol|Undefined symbols/.test(message))
    return { text: message, hint: missingLibrary }
  const [, text = message, hint] = /^(.*?)\n((?:Install|Run|Use|Keep|Choose|Add|Set) .*)$/s.exec(message) ?? []
  return { text, hint }
}

/** Packed functions refuse their arguments with errors of these kinds. */
const refusals = new Set(['TypeError', 'ValueError', 'IndexError', 'OverflowError', 'AttributeError'])

/** A kernel that returns INVALID_ARGUMENT refuses its input. Any other error, and an exception, is a failure of the kernel. */
function exitCodeOf(error: TenonError): ExitCode {
  if (error instanceof XlaError)
    return error.codeName === 'INVALID_ARGUMENT' ? ExitCode.userError : ExitCode.kernelFailed
  if (error instanceof PackedFuncError) return refusals.has(error.kind) ? ExitCode.userError : ExitCode.kernelFailed
  if (error instanceof IsolationError) return ExitCode.kernelFailed
  // After a fatal error of the driver, a kernel has failed on the device.
  const failed = error instanceof NativeError || (error instanceof CudaError && error.isFatal)
  return failed ? ExitCode.kernelFailed : ExitCode.userError
}

/** Instructions for calls in a process of their own, by the code of the error. */
const isolationHints: Readonly<Record<string, string>> = {
  TENON_KERNEL_DEADLINE: 'Pass a longer --deadline, or let the kernel read tn_cancelled() and return.',
  TENON_KERNEL_MEMORY: 'Pass a larger --memory.',
}

/** Says a hint about the options of `Library.isolate()` and about details with the flags of the command. */
const commandHint = (hint: string | undefined): string | undefined =>
  hint
    ?.replace('guard: true', '--guard')
    .replace('Use more workers, make fewer calls at a time', 'Pass more --workers')
    .replace('details.backtrace', 'the functions above')
    .replace('see details.previous, and use recycle: 1.', 'see details.previous, which --json prints.')

/** Returns the hint for the command line, which differs from the error's own hint for TypeScript. */
export function hintFor(error: TenonError): string | undefined {
  if (error instanceof IsolationError) return isolationHints[error.code] ?? commandHint(error.hint)
  if (error instanceof VersionSkewError)
    return 'Build it against headers of a supported version, or try --allow-newer-api.'
  const rule = kernelHints.find(({ pattern }) => pattern.test(error.sentence))
  if (rule !== undefined) {
    const hint = error.sentence.replace(rule.pattern, rule.hint)
    return error.hint?.endsWith(CONTRADICTION) === true ? `${hint} ${CONTRADICTION}` : hint
  }
  return error instanceof XlaError || error instanceof PackedFuncError ? undefined : error.hint
}

/** Hints for messages of kernels. Patterns match the whole message, so that a hint can quote parts of it. */
const kernelHints: readonly { readonly pattern: RegExp; readonly hint: string }[] = [
  {
    pattern: /^.*Wrong (?:scalar|array) data type: expected (\w+) but got \w+(?: \(attribute (\w+)\))?.*$/s,
    hint: 'Pass the attribute as $1: --attr name=type:value.',
  },
  {
    pattern: /^.*?Missing attribute: (\w+).*$/s,
    hint: 'Pass it with its type: --attr $1=f32:1.5, $1=s64:3, $1=pred:true or $1=str:text.',
  },
  {
    pattern: /^.*Wrong number of attributes.*$/s,
    hint: 'Pass each attribute with its type: --attr name=type:value, such as --attr eps=f32:1e-5.',
  },
  {
    pattern: /^.*Wrong number of arguments.*$/s,
    hint: 'Pass each operand as an --arg of its own, in order.',
  },
  {
    pattern: /^.*Wrong number of results.*$/s,
    hint: "Pass each result as a --result of its own, in order: --result 'f32[2,4]:y.npy'.",
  },
  {
    pattern: /^(\w+) of \w+ must be given, because the call does not determine .*$/s,
    hint: "Pass the type and shape of $1 with --result 'f32[2,4]', in the order of the results.",
  },
  {
    pattern: /^(\w+) of \w+ must be a dictionary, got (?!no value).*$/s,
    hint: `Pass --$1 as a JSON object, such as --$1 '{"name":1}'.`,
  },
  {
    pattern: /^.* must be a typed XLA handler.*$/s,
    hint: 'If it is void f(void* out, const void** in), pass --abi host.',
  },
  {
    pattern: /^.*Wrong buffer dtype: expected (\w+) but got (\w+).*$/s,
    hint: 'Convert the operand or result from $2 to $1, in NumPy with x.astype(...).',
  },
  {
    pattern: /^.*Wrong buffer rank: expected (\d+) but got (\d+).*$/s,
    hint: 'Change the operand or result from $2 to $1 axes, in NumPy with x.reshape(...).',
  },
]

interface SystemError extends Error {
  readonly code: string
  readonly syscall: string
  readonly path?: string
}

const isSystemError = (error: unknown): error is SystemError =>
  error instanceof Error &&
  'syscall' in error &&
  typeof error.syscall === 'string' &&
  'code' in error &&
  typeof error.code === 'string'

const systemTexts: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EFBIG: 'the file would be larger than the system allows',
  EIO: 'input or output error',
  EISDIR: 'it is a directory',
  ENOENT: 'no such file',
  ENOSPC: 'no space left on device',
  ENOTDIR: 'no such file',
  EROFS: 'the file system is read-only',
}

function systemText(error: SystemError): string {
  const { path, syscall } = error
  if (path === undefined) return error.message
  if (error.code === 'ENOENT' && !existsSync(dirname(path))) return `cannot open ${path}: its folder does not exist`
  const action = syscall === 'read' || syscall === 'write' ? syscall : 'open'
  return `cannot ${action} ${path}: ${reasonOf(error)}`
}

function reasonOf({ code, message }: SystemError): string {
  return systemTexts[code] ?? message
}

export function reportLostOutput(error: Error): ExitCode {
  printTalk(`tenon: cannot write to stdout: ${isSystemError(error) ? reasonOf(error) : error.message}`)
  return ExitCode.userError
}
