import { gcAllocator, tensor, Tensor, TensorType, type NativeAllocator } from '@tenon/core'
import { checkAlignment, checkOptions, TENSOR_ALIGNMENT, wrongType } from '@tenon/core/internal'
import type { RunAsyncOptions } from '../async/run-later.ts'
import { memoryOf, type AttributeDictionary } from '../attributes/encode-attributes.ts'
import { isSame, snapshot, type Snapshot } from '../attributes/snapshot.ts'
import type { PrepareOptions } from '../shape/call-shape.ts'
import type { Tensors } from './call-target.ts'
import type { PreparedCall } from './prepared-call.ts'

/** A result of a call: a tensor to write into, or a type, for which memory is allocated. */
export type ResultSpec = Tensor | TensorType

/** The value of a call: its only result, or all of them in order. */
export type CallResults<Results extends readonly ResultSpec[]> = number extends Results['length']
  ? Tensor | readonly Tensor[]
  : Results extends readonly [ResultSpec]
    ? Tensor
    : { readonly [Index in keyof Results]: Tensor }

/** The results of a call. */
export interface ResultOptions<Results extends readonly ResultSpec[]> {
  readonly results: Results
  /** The allocator of results that are given as types; by default the garbage collector frees their memory. */
  readonly allocator?: NativeAllocator
  /** The alignment of all tensors in bytes; by default the size of their elements. */
  readonly alignment?: number
}

/** The options of an untyped call as a function. */
export interface HostCallOptions<Results extends readonly ResultSpec[]> extends ResultOptions<Results> {
  /** Any bytes, which the function gets in addition to its buffers. Only STATUS_RETURNING_UNIFIED passes them. */
  readonly opaque?: string | Uint8Array
}

/** The options of a typed call as a function. */
export interface CallOptions<Results extends readonly ResultSpec[]> extends ResultOptions<Results> {
  readonly attrs?: AttributeDictionary
}

/** The two forms of a call as a function: synchronous, and on a thread of the core. */
export interface CallForms<Options extends object> {
  call(operands: Tensors, options: Options): unknown
  async(operands: Tensors, options: Options & RunAsyncOptions): Promise<unknown>
}

/** The parts of a call as a function. */
export interface CallParts<Options extends object> {
  /** The names of the options, except `signal`. */
  readonly known: readonly string[]
  /** Returns what a call is prepared with besides its tensors. */
  readonly attrsOf: (options: Options) => AttributeDictionary | undefined
  readonly prepare: (options: PrepareOptions & { readonly attrs: AttributeDictionary }) => PreparedCall
  /** Whether a synchronous call is kept for the next one. Calls with a state belong to one call site, so they are not. */
  readonly keeps: boolean
}

/** A prepared call that is kept for a later call with the same types and attributes. */
interface Kept {
  readonly call: PreparedCall
  readonly attrs: Snapshot
  readonly alignment: number | undefined
}

const NO_ATTRIBUTES: AttributeDictionary = Object.freeze({})

/** Makes functions that prepare a call and run it. The synchronous one keeps the call for the next call that is alike. */
export function callFunction<Options extends ResultOptions<readonly ResultSpec[]>>(
  parts: CallParts<Options>,
): CallForms<Options> {
  const { known, attrsOf, prepare, keeps } = parts
  let kept: Kept | undefined
  const call = (operands: Tensors, options: Options): unknown => {
    checkOperands(operands)
    for (const name in options) if (!known.includes(name)) checkOptions<object>(options, known as never[])
    const results = resultsOf(options)
    const { alignment } = options
    const attrs = attrsOf(options) ?? NO_ATTRIBUTES
    const alike = kept !== undefined && isAlike(kept, operands, results, attrs, alignment) ? kept : undefined
    const prepared =
      alike?.call ?? prepare({ operands, results, attrs, ...(alignment === undefined ? {} : { alignment }) })
    // Nobody else finds the kept call while it runs. A call from a callback of the kernel needs another one.
    if (alike !== undefined) kept = undefined
    try {
      prepared.run(operands, results)
    } finally {
      // A call that is kept would keep open the memory that its pointers refer to.
      if (keeps && memoryOf(attrs).length === 0) {
        kept?.call.close()
        kept = alike ?? { call: prepared, attrs: snapshot(attrs), alignment }
      } else {
        prepared.close()
      }
    }
    return valueOf(results)
  }
  const async = async (operands: Tensors, options: Options & RunAsyncOptions): Promise<unknown> => {
    checkOperands(operands)
    checkOptions<object>(options, [...known, 'signal'] as never[])
    const results = resultsOf(options)
    const { alignment, signal } = options
    const attrs = attrsOf(options) ?? NO_ATTRIBUTES
    const prepared = prepare({ operands, results, attrs, ...(alignment === undefined ? {} : { alignment }) })
    try {
      await prepared.runAsync(operands, results, { signal })
    } finally {
      prepared.close()
    }
    return valueOf(results)
  }
  return { call, async }
}

function valueOf(results: Tensors): Tensor | Tensors {
  return results.length === 1 ? results[0]! : results
}

function isAlike(
  { call, attrs, alignment }: Kept,
  operands: Tensors,
  results: Tensors,
  otherAttrs: AttributeDictionary,
  otherAlignment: number | undefined,
): boolean {
  const { types, operandCount } = call.shape
  return (
    call.target.gate.open &&
    alignment === otherAlignment &&
    operands.length === operandCount &&
    results.length === types.length - operandCount &&
    operands.every(({ type }, i) => type === types[i]) &&
    results.every(({ type }, i) => type === types[operandCount + i]) &&
    isSame(otherAttrs, attrs)
  )
}

function checkOperands(operands: unknown): void {
  if (Array.isArray(operands) && operands.every((operand) => operand instanceof Tensor)) return
  throw wrongType('operands', 'an array of tensors', operands, "Make tensors with tensor('f32', [2, 4], values).")
}

function resultsOf(options: ResultOptions<readonly ResultSpec[]>): Tensors {
  if (!Array.isArray(options?.results)) {
    const hint = 'Write results: [f32([2, 4])]: the types of its results are known to the kernel alone.'
    throw wrongType('results', 'an array of tensors or types', options?.results, hint)
  }
  const specs: readonly unknown[] = options.results
  return specs.map((spec, i) => {
    if (spec instanceof Tensor) return spec
    if (spec instanceof TensorType) return allocate(spec, options)
    throw wrongType(`result ${i}`, 'a tensor or a type', spec)
  })
}

/** Allocates a result with the alignment of tensors, or of the call if that is greater. */
function allocate(
  { dtype, shape, packing }: TensorType,
  { allocator = gcAllocator, alignment = TENSOR_ALIGNMENT }: ResultOptions<readonly ResultSpec[]>,
): Tensor {
  if (alignment === TENSOR_ALIGNMENT) return tensor(dtype, shape, undefined, { packing, allocator })
  const aligned: NativeAllocator = {
    allocate: (byteSize) =>
      allocator.allocate(byteSize, Math.max(checkAlignment(alignment, 'alignment'), TENSOR_ALIGNMENT)),
  }
  return tensor(dtype, shape, undefined, { packing, allocator: aligned })
}
