import { TenonError } from '@tenon/core'
import { defineKind } from '@tenon/core/internal'
import { parseDiagnostics } from './diagnostics.ts'
import { xlaCodeName, type XlaCodeName } from './xla-codes.ts'

/** When a handler runs: once for a call site, or at each run. */
export type Stage = 'instantiate' | 'prepare' | 'initialize' | 'execute'

/** What is known of a failure of native code. */
export interface XlaFailure {
  /** The code as the handler gave it: any 32-bit integer. */
  readonly xlaCode: number
  /** The handler's own words. */
  readonly text: string
  /** What was called: the symbol, or the registered name. */
  readonly target: string
  readonly stage: Stage
  /** Whether it is a C++ exception that the guard stopped. */
  readonly exception?: boolean
  /** Whether it was refused before any handler saw it. */
  readonly refused?: boolean
  /** Which call of a batch it was, from 0. */
  readonly batchIndex?: number | undefined
  /** What a TypeScript function threw. */
  readonly cause?: unknown
}

/**
 * A custom call failed: the handler answered with an error or threw a C++ exception. There is a subclass for each code
 * ({@link InvalidArgumentError} and so on); a code without a name gives an {@link UnknownError} with the number kept.
 *
 * @example
 * try {
 *   rmsNorm([x], { results: [f32([2, 4])], attrs: { eps: f64(1e-5) } })
 * } catch (error) {
 *   if (error instanceof InvalidArgumentError) console.error(error.diagnostics)
 *   // ['Wrong scalar data type: expected F32 but got F64 (attribute eps)']
 * }
 */
export class XlaError extends TenonError {
  static override readonly kind: string = 'XlaError'
  readonly xlaCode: number
  readonly codeName: XlaCodeName
  readonly target: string
  readonly stage: Stage
  /** What was wrong, one by one, if the handler could not take what it was given; empty otherwise. */
  readonly diagnostics: readonly string[]

  /** Which call of a batch failed, from 0; undefined outside of batches. */
  readonly batchIndex: number | undefined

  constructor(failure: XlaFailure) {
    const { xlaCode, text, target, stage, exception = false, batchIndex } = failure
    const codeName = xlaCodeName(xlaCode)
    const diagnostics = parseDiagnostics(text)
    const hint = hintFor(diagnostics, text)
    super('TENON_XLA', sentenceOf(failure, codeName, diagnostics), {
      ...(hint === undefined ? {} : { hint }),
      ...(failure.cause === undefined ? {} : { cause: failure.cause }),
      details: {
        xlaCode,
        codeName,
        target,
        stage,
        exception,
        text,
        diagnostics,
        ...(batchIndex === undefined ? {} : { batchIndex }),
      },
    })
    this.xlaCode = xlaCode
    this.codeName = codeName
    this.target = target
    this.stage = stage
    this.diagnostics = diagnostics
    this.batchIndex = batchIndex
  }
}
defineKind(XlaError)

function sentenceOf(failure: XlaFailure, codeName: XlaCodeName, diagnostics: readonly string[]): string {
  const { xlaCode, text, target, stage, exception, refused } = failure
  const label = codeName === 'UNKNOWN' && xlaCode !== 2 ? `${codeName} (code ${xlaCode})` : codeName
  const place = stage === 'execute' ? target : `${target} (${stage})`
  const where = failure.batchIndex === undefined ? place : `call ${failure.batchIndex} of the batch, ${place},`
  const words = diagnostics.length > 0 ? diagnostics.join('; ') : onOneLine(text) || 'no message'
  if (refused) return `${where} was refused with ${label}: ${words}`
  return exception ? `${where} threw a C++ exception: ${words}` : `${where} answered ${label}: ${words}`
}

/** Newer handlers put the stage in front, which is told anyway. */
function onOneLine(text: string): string {
  return text.replace(/^\[(?:instantiate|prepare|initialize|execute)\] /, '').replaceAll(/\s*\n\s*/g, ' ')
}

function hintFor(diagnostics: readonly string[], text: string): string | undefined {
  if (
    diagnostics.some((line) => line.startsWith('Wrong scalar data type') || line.startsWith('Wrong array data type'))
  ) {
    return 'give the attribute the exact type that the handler takes: f32(x), f64(x), s32(x), array("f32", [...]) and so on.'
  }
  if (diagnostics.some((line) => line.startsWith('Wrong buffer'))) {
    return 'give the tensors the element type and rank that the handler takes.'
  }
  if (/Wrong number of (?:arguments|results|attributes)/.test(text)) {
    return 'pass as many operands, results and attributes as the handler takes.'
  }
  return undefined
}
