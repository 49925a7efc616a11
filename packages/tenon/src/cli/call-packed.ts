import { readBinary, Tensor, tensor } from '@tenon/core'
import { didYouMean } from '@tenon/core/internal'
import { NativeObject, type Value } from '@tenon/packed-func'
import { writeNpy } from '../npy/npy-file.ts'
import { encodeNpyHeader } from '../npy/npy-header.ts'
import { isPackedSymbol, packedFunctions } from '../packed-functions.ts'
import type { CallRequest } from './call-kernel.ts'
import { formatTensor } from './format-tensor.ts'
import { jsonValues } from './json-values.ts'
import { openModule } from './open-module.ts'
import { packedArgument } from './packed-argument.ts'
import { printData, printTalk } from './terminal.ts'
import { formatTiming, timeRuns, type Timing } from './timing.ts'
import { UsageError } from './usage-error.ts'

/** What came of a call of a packed function. */
export interface PackedReport {
  readonly generation: string | undefined
  readonly value: Value
  /** The tensors that `--result` asked for, which the function wrote to. */
  readonly results: readonly Tensor[]
  readonly timing: Timing | undefined
}

/**
 * Whether a library's symbol is a packed function, going by its name and what else the library has. One that it has not is taken for a
 * mistyped one if it has packed functions.
 */
export function isPackedFunction({ library, symbol, registered }: CallRequest): boolean {
  const binary = readBinary(library)
  const { names } = packedFunctions(binary)
  if (names.includes(symbol)) return true
  return names.length > 0 && !registered && binary.exports.every(({ name }) => name !== symbol)
}

/**
 * Calls a packed function: with the arguments in order, then the results, which it writes to.
 *
 * @throws {UsageError} if the command line says what packed functions don't have
 * @throws {PackedFuncError} if the library can't be loaded or the function fails
 */
export function callPacked(request: CallRequest): PackedReport {
  const { library, symbol, attributes, operands, results: specs } = request
  const [attribute] = Object.keys(attributes)
  if (attribute !== undefined) {
    throw new UsageError(
      `${symbol} is a packed function, which takes no --attr`,
      `give ${attribute} in its place among the arguments: --arg float:1e-5, --arg int:3, --arg str:text.`,
    )
  }
  const flag = customCallFlag(request)
  if (flag !== undefined) throw new UsageError(`${symbol} is a packed function, which takes no ${flag}`)
  for (const { type, path } of specs) if (path !== undefined) encodeNpyHeader(type.dtype, type.shape)
  const { generation, names } = packedFunctions(readBinary(library))
  const target = openModule(library).tryGet(symbol)
  if (target === undefined) {
    const known = names.filter((name) => !isPackedSymbol(name))
    throw new UsageError(`${library} has no packed function ${symbol}`, didYouMean(symbol, known))
  }
  const results = specs.map(({ type }) => tensor(type.dtype, type.shape))
  const args = [...operands.map(packedArgument), ...results]
  const value = target.call(...args)
  specs.forEach(({ path }, index) => {
    if (path !== undefined) writeNpy(path, results[index]!)
  })
  const timing = request.repeat === 0 ? undefined : timeRuns(() => void target.call(...args), request.repeat)
  return { generation, value, results, timing }
}

/** A flag of the command line that only custom calls know. */
function customCallFlag(request: CallRequest): string | undefined {
  const given: readonly (readonly [flag: string, isGiven: boolean])[] = [
    ['--opaque', request.opaque !== undefined],
    ['--stage', Object.keys(request.stages).length > 0],
    ['--registered', request.registered],
    ['--alias', request.aliases.length > 0],
    ['--host-scratch', request.hostScratch],
    ['--cuda-driver', request.cudaDriver !== undefined],
    ['--allow-newer-api', request.allowNewerApi],
  ]
  return given.find(([, isGiven]) => isGiven)?.[0]
}

/** Prints what a function returned and wrote, as text. */
export function printPacked({ results: specs }: CallRequest, { value, results, timing }: PackedReport): void {
  results.forEach((result, index) => {
    const { path } = specs[index]!
    if (path !== undefined) printTalk(`${path}: ${result.type}`)
    else {
      if (results.length > 1) printTalk(`result ${index}: ${result.type}`)
      printData(formatTensor(result))
    }
  })
  if (value !== null) printData(formatValue(value))
  if (timing !== undefined) printTalk(formatTiming(timing))
}

/** The same as one JSON document. */
export function jsonPacked(request: CallRequest, { generation, value, results, timing }: PackedReport): unknown {
  return {
    library: request.library,
    symbol: request.symbol,
    convention: 'packed',
    generation,
    value: jsonValue(value),
    results: results.map((result, index) => {
      const { path } = request.results[index]!
      return { type: String(result.type), ...(path === undefined ? { values: jsonValues(result) } : { path }) }
    }),
    timing,
  }
}

function formatValue(value: Value): string {
  if (value instanceof Tensor) return formatTensor(value)
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  return value instanceof NativeObject ? `a native object (${value.typeKey})` : String(value)
}

function jsonValue(value: Value): unknown {
  if (value instanceof Tensor) return { type: String(value.type), values: jsonValues(value) }
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value)
  return value === null || typeof value === 'boolean' ? value : formatValue(value)
}
