import { Tensor, tensor } from '@tenon/core'
import type { BinaryInfo } from '@tenon/binary'
import { didYouMean } from '@tenon/core/internal'
import { NativeObject, type Value } from '@tenon/packed-func'
import type { RemoteValue } from '@tenon/packed-func/internal'
import { isPackedSymbol, packedFunctions } from '../packed-functions.ts'
import { refuseUnwritable, writeResults, type CallRequest } from './call-custom.ts'
import { jsonResults, printResults, printTiming } from './call-output.ts'
import { formatTensor } from './format-tensor.ts'
import { InputError } from './input-error.ts'
import { jsonValues } from './json-values.ts'
import { openModule } from './open-module.ts'
import { packedArgument } from './packed-argument.ts'
import { printData } from './terminal.ts'
import { timeRuns, type Timing } from './timing.ts'
import { UsageError } from './usage-error.ts'

export interface PackedReport {
  readonly generation: string | undefined
  readonly value: Value | RemoteValue
  /** The tensors of `--result`, to which the function wrote. */
  readonly results: readonly Tensor[]
  readonly timing: Timing | undefined
}

/**
 * Whether a symbol is a packed function. In a library with packed functions, a symbol that is not exported is taken for a misspelled
 * packed function.
 */
export function isPackedFunction({ symbol, known, registered }: CallRequest, info: BinaryInfo): boolean {
  if (known !== undefined) return known === 'packed' || known === 'legacy'
  if (registered || info.exports.some(({ name }) => name === symbol)) return false
  return packedFunctions(info).names.length > 0
}

/**
 * Calls a packed function with the arguments in order, and then the results, to which it writes.
 *
 * @param info the headers and symbols of the library
 * @throws {UsageError} if the command line has flags that packed functions do not accept
 * @throws {InputError} if the library does not export the function
 * @throws {LoadError} if the library cannot be loaded
 * @throws {PackedFuncError} if the function fails
 */
export function callPacked(request: CallRequest, info: BinaryInfo): PackedReport {
  const { library, symbol, attributes, operands, results: specs } = request
  const [attribute] = Object.keys(attributes)
  if (attribute !== undefined) {
    throw new UsageError(
      `${symbol} is a packed function, which does not accept --attr`,
      `Pass ${attribute} in its place among the arguments: --arg float:1e-5, --arg int:3, --arg str:text.`,
    )
  }
  const flag = customCallFlag(request)
  if (flag !== undefined) throw new UsageError(`${symbol} is a packed function, which does not accept ${flag}`)
  refuseUnwritable(specs)
  const { generation, names } = packedFunctions(info)
  const target = openModule(library).tryGet(symbol)
  if (target === undefined) {
    const known = names.filter((name) => !isPackedSymbol(name))
    throw new InputError(
      `${library} does not export a packed function named ${JSON.stringify(symbol)}`,
      didYouMean(symbol, known),
    )
  }
  const results = specs.map(({ type }) => tensor(type.dtype, type.shape))
  const args = [...operands.map(packedArgument), ...results]
  const value = target(...args)
  writeResults(specs, results)
  const timing = request.repeat === 0 ? undefined : timeRuns(() => void target(...args), request.repeat)
  return { generation, value, results, timing }
}

function customCallFlag(request: CallRequest): string | undefined {
  const flags: readonly (readonly [flag: string, isPresent: boolean])[] = [
    ['--opaque', request.opaque !== undefined],
    ['--stage', Object.keys(request.stages).length > 0],
    ['--registered', request.registered],
    ['--alias', request.aliases.length > 0],
    ['--host-scratch', request.hostScratch],
    ['--cuda-driver', request.cudaDriver !== undefined],
    ['--allow-newer-api', request.allowNewerApi],
  ]
  return flags.find(([, isPresent]) => isPresent)?.[0]
}

export function printPacked({ results: specs }: CallRequest, { value, results, timing }: PackedReport): void {
  printResults(specs, results)
  if (value !== null) printData(formatValue(value))
  printTiming(timing)
}

export function jsonPacked(request: CallRequest, { generation, value, results, timing }: PackedReport): unknown {
  const { library, symbol, results: specs } = request
  return {
    library,
    symbol,
    convention: 'packed',
    generation,
    value: jsonValue(value),
    results: jsonResults(specs, results),
    timing,
  }
}

function formatValue(value: Value | RemoteValue): string {
  if (value instanceof Tensor) return formatTensor(value)
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  if (Array.isArray(value)) return `[${value.map(formatValue).join(', ')}]`
  if (value instanceof Map) return `{${[...value].map((pair) => pair.map(formatValue).join(': ')).join(', ')}}`
  return value instanceof NativeObject ? `a native object (${value.typeKey})` : String(value)
}

function jsonValue(value: Value | RemoteValue): unknown {
  if (value instanceof Tensor) return { type: String(value.type), values: jsonValues(value) }
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value)
  if (Array.isArray(value)) return value.map(jsonValue)
  if (value instanceof Map) return [...value].map((pair) => pair.map(jsonValue))
  return value === null || typeof value === 'boolean' ? value : formatValue(value)
}
