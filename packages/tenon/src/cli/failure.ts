import { NativeError, TenonError } from '@tenon/core'
import { printTalk, styleFor } from './terminal.ts'
import { UsageError } from './usage-error.ts'

/** The exit codes of the command: stable, for scripts. */
export const ExitCode = { ok: 0, userError: 1, usage: 2, kernelFailed: 3 } as const
export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode]

/** Prints one clear message about an error, never a stack unless `TENON_DEBUG=stack` asks for it. */
export function reportFailure(error: unknown, command: string): ExitCode {
  const { text, hint, code } = explain(error)
  printTalk(`${styleFor(process.stderr).bad(command)}: ${text}`)
  if (hint !== undefined) printTalk(`hint: ${hint}`)
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
  if (error instanceof TenonError) {
    const code = error instanceof NativeError ? ExitCode.kernelFailed : ExitCode.userError
    return { text: error.sentence, hint: error.hint, code }
  }
  if (isSystemError(error)) return { text: systemText(error), hint: undefined, code: ExitCode.userError }
  return {
    text: `unexpected: ${error instanceof Error ? error.message : String(error)}`,
    hint: 'This is a bug of tenon: run it again with TENON_DEBUG=stack and report what it prints.',
    code: ExitCode.userError,
  }
}

interface SystemError extends Error {
  readonly code: string
  readonly path?: string
}

const isSystemError = (error: unknown): error is SystemError =>
  error instanceof Error && 'syscall' in error && 'code' in error && typeof error.code === 'string'

const systemTexts: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EISDIR: 'it is a directory',
  ENOENT: 'no such file',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'no such file',
}

function systemText(error: SystemError): string {
  const reason = systemTexts[error.code]
  return reason === undefined || error.path === undefined ? error.message : `can't open ${error.path}: ${reason}`
}
