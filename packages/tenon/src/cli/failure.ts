import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { NativeError, TenonError } from '@tenon/core'
import { VersionSkewError, XlaError } from '@tenon/custom-call'
import { PackedFuncError } from '@tenon/packed-func'
import { printable, printTalk, styleFor } from './terminal.ts'
import { UsageError } from './usage-error.ts'

/** The exit codes of the command: stable, for scripts. */
export const ExitCode = { ok: 0, userError: 1, usage: 2, kernelFailed: 3 } as const
export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode]

/** Prints one clear message about an error, never a stack unless `TENON_DEBUG=stack` asks for it. */
export function reportFailure(error: unknown, command: string): ExitCode {
  const { text, hint, code } = explain(error)
  printTalk(`${styleFor(process.stderr).bad(command)}: ${printable(text)}`)
  if (hint !== undefined) printTalk(`hint: ${printable(hint)}`)
  if (process.env['TENON_DEBUG']?.split(',').includes('stack') && error instanceof Error) printTalk(error.stack ?? '')
  return code
}

interface Explanation {
  readonly text: string
  readonly hint: string | undefined
  readonly code: ExitCode
}

function explain(error: unknown): Explanation {
  if (error instanceof UsageError) return { text: error.message, hint: error.hint, code: ExitCode.usage }
  if (error instanceof TenonError) return { text: error.sentence, hint: hintFor(error), code: exitCodeOf(error) }
  if (isSystemError(error)) return { text: systemText(error), hint: undefined, code: ExitCode.userError }
  return {
    text: `unexpected: ${error instanceof Error ? error.message : String(error)}`,
    hint: 'this is a bug of tenon: run it again with TENON_DEBUG=stack and report what it prints.',
    code: ExitCode.userError,
  }
}

/** The kinds by which packed functions refuse what they are given. */
const refusals = new Set(['TypeError', 'ValueError', 'IndexError', 'OverflowError', 'AttributeError'])

/** A kernel that answers INVALID_ARGUMENT refuses what it was given; any other answer, and an exception, is a failure. */
function exitCodeOf(error: TenonError): ExitCode {
  if (error instanceof XlaError)
    return error.codeName === 'INVALID_ARGUMENT' ? ExitCode.userError : ExitCode.kernelFailed
  if (error instanceof PackedFuncError) return refusals.has(error.kind) ? ExitCode.userError : ExitCode.kernelFailed
  return error instanceof NativeError ? ExitCode.kernelFailed : ExitCode.userError
}

/** What to do on the command line, where the error's own hint speaks of TypeScript. */
function hintFor(error: TenonError): string | undefined {
  if (error instanceof VersionSkewError) return 'build it against headers of a known version, or try --allow-newer-api.'
  const rule = kernelHints.find(({ pattern }) => pattern.test(error.sentence))
  if (rule !== undefined) return error.sentence.replace(rule.pattern, rule.hint)
  return error instanceof XlaError || error instanceof PackedFuncError ? undefined : error.hint
}

/** Patterns match a whole sentence, so that a hint can be made of its parts. */
const kernelHints: readonly { readonly pattern: RegExp; readonly hint: string }[] = [
  {
    pattern: /^.*Wrong (?:scalar|array) data type: expected (\w+) but got \w+(?: \(attribute (\w+)\))?.*$/s,
    hint: 'give the attribute as $1: --attr name=type:value.',
  },
  {
    pattern: /^.*?Missing attribute: (\w+).*$/s,
    hint: 'give it with its type: --attr $1=f32:1.5, $1=s64:3, $1=pred:true or $1=str:text.',
  },
  {
    pattern: /^.*Wrong number of attributes.*$/s,
    hint: 'each is given with its type: --attr name=type:value, such as --attr eps=f32:1e-5.',
  },
  { pattern: /^.*Wrong number of arguments.*$/s, hint: 'each operand is an --arg of its own, in order.' },
  {
    pattern: /^.*Wrong number of results.*$/s,
    hint: "each result is a --result of its own, in order: --result 'f32[2,4]:y.npy'.",
  },
  {
    pattern: /^.* must be a typed XLA handler.*$/s,
    hint: 'if it is void f(void* out, const void** in), say --abi host.',
  },
  {
    pattern: /^.*Wrong buffer dtype: expected (\w+) but got (\w+).*$/s,
    hint: 'an operand or a result is $2 where the kernel takes $1: in NumPy, x.astype(...) gives another type.',
  },
  {
    pattern: /^.*Wrong buffer rank: expected (\d+) but got (\d+).*$/s,
    hint: 'an operand or a result has $2 axes where the kernel takes $1: in NumPy, x.reshape(...) gives others.',
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
  EIO: 'input or output error',
  EISDIR: 'it is a directory',
  ENOENT: 'no such file',
  ENOSPC: 'no space left on device',
  ENOTDIR: 'no such file',
}

function systemText(error: SystemError): string {
  const { path, syscall } = error
  if (path === undefined) return error.message
  if (error.code === 'ENOENT' && !existsSync(dirname(path))) return `can't open ${path}: its folder does not exist`
  const action = syscall === 'read' || syscall === 'write' ? syscall : 'open'
  return `can't ${action} ${path}: ${reasonOf(error)}`
}

/** Why the system refused, without what it was asked. */
function reasonOf({ code, message }: SystemError): string {
  return systemTexts[code] ?? message
}

/** Prints that what the user asked for could not be written, such as to a full disk. */
export function reportLostOutput(error: Error): ExitCode {
  printTalk(`tenon: can't write to stdout: ${isSystemError(error) ? reasonOf(error) : error.message}`)
  return ExitCode.userError
}
