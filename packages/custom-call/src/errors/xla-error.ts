import { TenonError } from '@tenon/core'
import { abslCodeName, defineKind, type AbslCodeName } from '@tenon/core/internal'

/** The name of an error code. A number without a name counts as `UNKNOWN`. */
export type XlaCodeName = AbslCodeName

/**
 * The stages of a handler. Instantiate runs once for a prepared call. Prepare, initialize and execute run in each run. Record
 * adds the work of a run to a command buffer of XLA, which Tenon does not have: a handler of this stage is never run.
 */
export type Stage = 'instantiate' | 'prepare' | 'initialize' | 'execute' | 'record'

/** The facts of a failure of native code. */
export interface XlaFailure {
  /** The code from the handler, any 32-bit integer. */
  readonly xlaCode: number
  /** The handler's message. */
  readonly text: string
  /** The symbol or registered name of the target. */
  readonly target: string
  readonly stage: Stage
  /** The type of the C++ exception that the guard caught, as in `std::runtime_error`; undefined for another failure. */
  readonly exceptionType?: string | undefined
  /** Whether the call was refused before a handler saw it. */
  readonly refused?: boolean
  /** The index of the call in its batch. */
  readonly batchIndex?: number | undefined
  /** The value that a TypeScript function threw. */
  readonly cause?: unknown
  /** The hint of the error. By default, it follows from the handler's message. */
  readonly hint?: string | undefined
}

/**
 * The error of a custom call whose handler returned an error or threw a C++ exception. Each code has a subclass, such as
 * {@link InvalidArgumentError}. An unknown code becomes an {@link UnknownError} that keeps the number.
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
  /** The reasons why the handler refused its operands. The list is empty for other failures. */
  readonly diagnostics: readonly string[]
  /** The index of the failed call in its batch, or undefined if the call was not in a batch. */
  readonly batchIndex: number | undefined

  constructor(failure: XlaFailure) {
    const { xlaCode, text, target, stage, exceptionType, batchIndex } = failure
    const codeName = abslCodeName(xlaCode)
    const diagnostics = parseDiagnostics(text)
    const hint = failure.hint ?? hintFor(diagnostics, text)
    super('TENON_XLA', sentenceOf(failure, codeName, diagnostics), {
      ...(hint === undefined ? {} : { hint }),
      ...(failure.cause === undefined ? {} : { cause: failure.cause }),
      details: {
        xlaCode,
        codeName,
        target,
        stage,
        exception: exceptionType !== undefined,
        ...(exceptionType === undefined ? {} : { exceptionType }),
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
  const { xlaCode, text, target, stage, exceptionType, refused } = failure
  const label = codeName === 'UNKNOWN' && xlaCode !== 2 ? `${codeName} (code ${xlaCode})` : codeName
  const place = stage === 'execute' ? target : `${target} (${stage})`
  const where = failure.batchIndex === undefined ? place : `call ${failure.batchIndex} of the batch, ${place},`
  const words = diagnostics.length > 0 ? diagnostics.join('; ') : onOneLine(text) || 'no message'
  if (refused) return `${where} was refused with ${label}: ${words}`
  if (exceptionType === undefined) return `${where} answered ${label}: ${words}`
  return `${where} threw a C++ exception: ${words}${exceptionType === text ? '' : ` (${exceptionType})`}`
}

/** Removes the stage that newer handlers put in front, because the sentence names it already. */
function onOneLine(text: string): string {
  return text.replace(/^\[(?:instantiate|prepare|initialize|execute|record)\] /, '').replaceAll(/\s*\n\s*/g, ' ')
}

/** The end of hints about calls that a handler refuses. A call that contradicts the signature never reaches the handler. */
export const CONTRADICTION =
  'If you called it by its signature, the handler contradicts the signature: correct one of them.'

function hintFor(diagnostics: readonly string[], text: string): string | undefined {
  const reasons = diagnostics.join('\n')
  if (/^Wrong (?:scalar|array) data type/m.test(reasons)) {
    return `Give the attribute the exact type that the handler takes: f32(x), f64(x), s32(x), array("f32", [...]) and so on. ${CONTRADICTION}`
  }
  if (/^Wrong buffer/m.test(reasons))
    return `Give the tensors the element type and shape that the handler takes. ${CONTRADICTION}`
  if (/Wrong number of (?:arguments|results|attributes)/.test(text)) {
    return `Pass as many operands, results and attributes as the handler takes. ${CONTRADICTION}`
  }
  return undefined
}

/** Matches the start of each reason for which handlers refuse operands. Some handlers write no separator between reasons. */
const REASONS =
  /(?=Wrong (?:argument|result|attribute|buffer|scalar|array|number of)\b|Attribute name mismatch: |Unexpected attribute: |Missing attribute: |Failed to get )/

/**
 * Splits the text of a handler that refused its operands into the reasons; returns none for any other text. Such a text
 * is `[execute] Failed to decode all FFI handler operands (bad operands at: 0)`, `Diagnostics:`, and then the reasons.
 */
function parseDiagnostics(text: string): readonly string[] {
  const at = text.indexOf('Diagnostics:')
  if (at < 0 || !text.includes('Failed to decode all FFI handler operands')) return []
  return text
    .slice(at + 'Diagnostics:'.length)
    .split('\n')
    .flatMap((line) => line.split(REASONS))
    .map((reason) => reason.trim())
    .filter((reason) => reason !== '')
}
