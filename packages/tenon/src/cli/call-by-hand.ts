import type { KernelSignature } from '@tenon/core'
import type { BinaryInfo } from '@tenon/binary'
import type { Alias } from '@tenon/custom-call'
import { parseAttribute } from './attribute-spec.ts'
import { callCustom, writtenResults, type CallReport, type CallRequest } from './call-custom.ts'
import type { CallFlags } from './call-flags.ts'
import { jsonResults, printResults, printTiming } from './call-output.ts'
import { callPacked, isPackedFunction, jsonPacked, printPacked, type PackedReport } from './call-packed.ts'
import { InputError } from './input-error.ts'
import { parseResultSpec } from './tensor-spec.ts'
import { printData } from './terminal.ts'
import { UsageError } from './usage-error.ts'

/** Whether flags say by hand how to call a kernel, or do not fit its convention, so that its signature is not used. */
export function isByHand(flags: CallFlags, { convention }: KernelSignature): boolean {
  const { abi, opaque, stage, alias, result } = flags
  if (abi !== undefined && abi !== convention) return true
  if (opaque !== undefined || stage.length > 0 || alias.length > 0 || result.some(isTemp)) return true
  if (flags['cuda-driver'] !== undefined) return true
  return convention !== 'typed' && (flags.registered || flags['host-scratch'] || flags['allow-newer-api'])
}

const isTemp = (text: string): boolean => text.startsWith('temp:')

/**
 * Refuses a convention by hand that contradicts the signature of a kernel, because another convention reads and writes arbitrary
 * memory. A function of any convention may also be one for a device.
 */
function refuseContradiction({ abi, symbol }: CallFlags, known: KernelSignature | undefined): void {
  if (abi === undefined || known === undefined || known.source === 'none' || abi === known.convention) return
  const { convention } = known
  if (abi === 'cuda-typed' ? convention === 'typed' : abi.startsWith('cuda') && convention.startsWith('host')) return
  if (abi === 'packed' && convention === 'legacy') return
  throw new InputError(
    `${symbol} must be called as a ${convention} kernel, got ${abi}`,
    'Omit --abi, because a different convention reads and writes arbitrary memory.',
  )
}

/** The kernel of a call by hand: its known signature, and the headers and symbols of its library. */
export interface HandCall {
  readonly flags: CallFlags
  /** The signature of the kernel, whose convention is used without `--abi`; undefined if nothing describes the kernel. */
  readonly known: KernelSignature | undefined
  readonly info: BinaryInfo
  readonly repeat: number
}

/** Calls a kernel without using its signature. Its results and the types of its attributes come from the command line. */
export function callByHand(call: HandCall): void {
  const { flags, info } = call
  const request = readRequest(call)
  if (isPackedCall(request, call)) printPackedReport(request, callPacked(request, info), flags.json)
  else printReport(request, callCustom(request, info), flags.json)
}

/** Whether the kernel is a packed function. */
export const isPackedCall = (request: CallRequest, { flags: { abi }, info }: HandCall): boolean =>
  abi === 'packed' || (abi === undefined && isPackedFunction(request, info))

/** Reads the flags of a call. @throws {UsageError | InputError} if they contradict each other or the library */
export function readRequest({ flags, known, repeat }: HandCall): CallRequest {
  const { library, symbol, abi, opaque, registered } = flags
  refuseContradiction(flags, known)
  if (flags.out.length > 0) {
    throw new UsageError(
      `--out needs the signature of ${symbol}`,
      "Pass the type, shape and file of each result: --result 'f32[2,4]:y.npy'.",
    )
  }
  return {
    library,
    symbol,
    operands: flags.arg,
    attributes: attributesOf(flags.attr),
    results: flags.result.map(parseResultSpec),
    convention: abi === 'packed' ? undefined : abi,
    known: known?.convention,
    opaque,
    repeat,
    allowNewerApi: flags['allow-newer-api'],
    stages: stagesOf(flags.stage),
    registered,
    aliases: flags.alias.map(parseAlias),
    hostScratch: flags['host-scratch'],
    cudaDriver: flags['cuda-driver'],
  }
}

export function printPackedReport(request: CallRequest, report: PackedReport, json: boolean): void {
  if (json) printData(JSON.stringify(jsonPacked(request, report), undefined, 2))
  else printPacked(request, report)
}

export function printReport(request: CallRequest, report: CallReport, json: boolean): void {
  if (json) printData(JSON.stringify(jsonReport(request, report), undefined, 2))
  else {
    printResults(writtenResults(request), report.results)
    printTiming(report.timing)
  }
}

function stagesOf(texts: readonly string[]): CallRequest['stages'] {
  const stages: Record<string, string> = {}
  for (const text of texts) {
    const match = /^(instantiate|prepare|initialize)=(.+)$/.exec(text)
    if (match === null || Object.hasOwn(stages, match[1]!)) {
      throw new UsageError(
        `--stage must be instantiate=symbol, prepare=symbol or initialize=symbol, each once, got ${text}`,
      )
    }
    stages[match[1]!] = match[2]!
  }
  return stages
}

function parseAlias(text: string): Alias {
  const match = /^(\d{1,5})=(\d{1,5})$/.exec(text)
  if (match !== null) return { operand: Number(match[1]), result: Number(match[2]) }
  throw new UsageError(`--alias must be operand=result, such as 0=0, got ${text}`)
}

function attributesOf(texts: readonly string[]): CallRequest['attributes'] {
  const attributes = texts.map(parseAttribute)
  const names = attributes.map(([name]) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw new UsageError(`--attr ${twice} is given more than once`)
  return Object.fromEntries(attributes)
}

function jsonReport(request: CallRequest, { convention, version, operands, results, timing }: CallReport): unknown {
  return {
    library: request.library,
    symbol: request.symbol,
    convention,
    version,
    operands: operands.map((operand) => String(operand.type)),
    results: jsonResults(writtenResults(request), results),
    timing,
  }
}
