import { createRequire } from 'node:module'
import { decode } from '@msgpack/msgpack'
import { tensor, type DType, type Segment, type StringLayout, type StringTensorLike, type Tensor } from '@tenon/core'
import {
  CONSTANTS,
  emptyStrings,
  hasStringClass,
  LAYOUTS,
  makeStrings,
  shareStrings,
  STATUS,
  stringType,
} from '@tenon/core/internal'
import type { LongStrings } from './kept-strings.ts'
import { ScriptHostError } from './script-host-error.ts'

/** What a kernel can ask about its call. */
export interface ScriptCall {
  /** Whether the caller has given the call up, or its deadline has passed. A kernel that runs for long asks, and returns. */
  isCancelled(): boolean
}

/**
 * A kernel in TypeScript for workers in Node.js: an exported function of a module. It reads the operands, writes the results, and
 * borrows both until it returns, or until its promise settles. An operand that the caller omits is null.
 *
 * Operands and results of strings are tensors of the class `StringTensor`. The results are empty strings at first, and can be set to strings of
 * any length.
 *
 * @example
 * export function double([x]: readonly Tensor[], [y]: readonly Tensor[]): void {
 *   x.toArray().forEach((value, i) => y.set([i], 2 * value))
 * }
 */
export type ScriptKernel = (
  operands: readonly ScriptValue[],
  results: readonly (Tensor | StringTensorLike)[],
  attributes: Readonly<Record<string, unknown>>,
  call: ScriptCall,
) => void | Promise<void>

/** The element type and the sizes of a tensor, and the layout of one of strings; null for one that is missing. */
type TensorFacts = readonly [dtype: string, sizes: readonly number[], strings?: StringLayout] | null

interface Descriptor {
  readonly operands: readonly TensorFacts[]
  readonly results: readonly TensorFacts[]
  readonly attributes: Readonly<Record<string, unknown>>
  /** The path of the module with the class of string tensors, for a kernel with strings. */
  readonly stringClass?: string
}

const { offsets: KERNEL, size: KERNEL_SIZE } = LAYOUTS.tn_host_kernel_t
const EXECUTE = 3

/** The contents of the body of a request for a kernel. */
export interface KernelRequest {
  readonly library: number
  /** The name of the export. */
  readonly symbol: string
  readonly descriptor: Descriptor
}

/** Reads the body of a request for a kernel. @throws {ScriptHostError} if it is malformed. */
export function readKernelRequest(body: Uint8Array): KernelRequest {
  const view = new DataView(body.buffer, body.byteOffset, body.length)
  if (body.length < KERNEL_SIZE) throw new ScriptHostError('the description of the kernel is too short')
  const convention = view.getUint32(KERNEL.convention, true)
  if (convention !== CONSTANTS.TN_HOST_SCRIPT) {
    throw new ScriptHostError(`a worker in Node.js runs kernels of scripts, got the convention ${convention}`)
  }
  const lengthOf = (stage: number): number => view.getUint32(KERNEL.symbol_lengths + 4 * stage, true)
  let at = KERNEL_SIZE + view.getUint32(KERNEL.name_length, true)
  for (let stage = 0; stage < EXECUTE; stage++) at += lengthOf(stage)
  const symbolEnd = at + lengthOf(EXECUTE)
  const start = Math.ceil(symbolEnd / 8) * 8
  const end = start + view.getUint32(KERNEL.descriptor_length, true)
  if (end > body.length) throw new ScriptHostError('the description of the kernel is too short')
  return {
    library: view.getUint32(KERNEL.library, true),
    symbol: Buffer.from(body.subarray(at, symbolEnd)).toString(),
    descriptor: decode(body.subarray(start, end), { useBigInt64: true }) as Descriptor,
  }
}

/** A tensor of a run; null for one that is missing. */
type ScriptValue = Tensor | StringTensorLike | null

/** A function of a module, with the types of its tensors. */
export class LoadedKernel {
  readonly #run: ScriptKernel
  readonly #facts: readonly TensorFacts[]
  /** The shapes of the tensors of the last run. */
  #sizes: readonly (readonly number[])[]
  readonly #operandCount: number
  readonly #attributes: Descriptor['attributes']

  /** @throws {ScriptHostError} if the module does not export a function of this name. */
  constructor(module: Readonly<Record<string, unknown>>, { symbol, descriptor }: KernelRequest) {
    const found = Object.hasOwn(module, symbol) ? module[symbol] : undefined
    if (typeof found !== 'function') {
      const names = Object.keys(module).filter((name) => typeof module[name] === 'function')
      throw new ScriptHostError(
        `the module must export a function ${symbol}, and exports ${names.length === 0 ? 'none' : names.join(', ')}`,
        STATUS.NOT_FOUND.value,
      )
    }
    // The class announces itself to the core.
    const { stringClass } = descriptor
    if (stringClass !== undefined && !hasStringClass()) createRequire(stringClass)(stringClass)
    this.#run = found as ScriptKernel
    this.#facts = [...descriptor.operands, ...descriptor.results]
    this.#sizes = this.#facts.map((facts) => (facts === null ? [] : facts[1].map(Number)))
    this.#operandCount = descriptor.operands.length
    this.#attributes = descriptor.attributes
  }

  /** The number of operands and results. */
  get count(): number {
    return this.#facts.length
  }

  /** Takes the dimensions of a run, and of those that follow without dimensions. @throws {ScriptHostError} if they are not those of the tensors. */
  resize(dims: BigInt64Array): void {
    let at = 0
    const sizes = this.#facts.map((facts): readonly number[] => {
      const rank = facts === null ? 0 : facts[1].length
      const shape = Array.from(dims.subarray(at, at + rank), Number)
      // The struct of each string is the last dimension, and a scalar has one.
      at += facts?.[2] === undefined ? Math.max(rank, 1) : rank + 1
      return shape
    })
    if (at !== dims.length) {
      throw new ScriptHostError(`the body of a run must have ${at} dimensions, got ${dims.length}`)
    }
    this.#sizes = sizes
  }

  /** The tensors for a run over memory. @param segments operands before results; null for a missing one. */
  valuesOf(segments: readonly (Segment | null)[]): readonly ScriptValue[] {
    return this.#facts.map((facts, i) => {
      const segment = segments[i]
      if (facts === null || segment === null) return null
      const [dtype, , layout] = facts
      const shape = this.#sizes[i]!
      if (layout === undefined) return tensor(dtype as DType, shape, segment!)
      if (i >= this.#operandCount) return emptyStrings(stringType(layout, shape))
      // The client can change the memory while the function runs.
      return makeStrings({ layout, shape, segment: segment! }, true)
    })
  }

  /** Runs the function. @param values of {@link valuesOf}. @throws what the function throws */
  run(values: readonly ScriptValue[], call: ScriptCall): void | Promise<void> {
    const results = values.slice(this.#operandCount) as (Tensor | StringTensorLike)[]
    return this.#run(values.slice(0, this.#operandCount), results, this.#attributes, call)
  }

  /**
   * Copies the strings of results to the memory of a run.
   *
   * @returns those that do not fit into it. @throws {ArgumentError} if the function has damaged strings
   */
  takeStrings(segments: readonly (Segment | null)[], values: readonly ScriptValue[]): LongStrings[] {
    return values.flatMap((value, operand): LongStrings[] => {
      const segment = segments[operand]
      const isResult = operand >= this.#operandCount && this.#facts[operand]?.[2] !== undefined
      if (!isResult || value === null || segment === null || segment === undefined) return []
      const strings = shareStrings(value as StringTensorLike, segment, `result ${operand - this.#operandCount}`)
      return strings === undefined ? [] : [{ operand, strings }]
    })
  }
}
