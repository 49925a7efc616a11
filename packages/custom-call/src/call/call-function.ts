import { ArgumentError, gcAllocator, tensor, Tensor, TensorType, type NativeAllocator } from '@tenon/core'
import { checkAlignment, describe, TENSOR_ALIGNMENT } from '@tenon/core/internal'
import { memoryOf, type AttributeDictionary } from '../attributes/encode-attributes.ts'
import { isSame, snapshot, type Snapshot } from '../attributes/snapshot.ts'
import type { Tensors } from './call-target.ts'
import type { PrepareOptions } from '../shape/call-shape.ts'
import type { PreparedCall } from './prepared-call.ts'

/** A result of a call: a tensor to write into, or a type, for which memory is allocated. */
export type ResultSpec = Tensor | TensorType

/** What a call returns: its only result, or all of them in order. */
export type CallResults<Results extends readonly ResultSpec[]> = number extends Results['length']
  ? Tensor | readonly Tensor[]
  : Results extends readonly [ResultSpec]
    ? Tensor
    : { readonly [Index in keyof Results]: Tensor }

/** Where the results of a call go. */
export interface ResultOptions<Results extends readonly ResultSpec[]> {
  readonly results: Results
  /** Where the memory of results comes from that are given as types; the default is freed by the garbage collector. */
  readonly allocator?: NativeAllocator
  /** What the addresses of all tensors must be a multiple of, in bytes; that of their elements without it. */
  readonly alignment?: number
}

/** What is said at each untyped call, besides its operands. */
export interface HostCallOptions<Results extends readonly ResultSpec[]> extends ResultOptions<Results> {
  /** What the function is told besides its buffers: any bytes. Only STATUS_RETURNING_UNIFIED passes it. */
  readonly opaque?: string | Uint8Array
}

/** What is said at each typed call, besides its operands. */
export interface CallOptions<Results extends readonly ResultSpec[]> extends ResultOptions<Results> {
  readonly attrs?: AttributeDictionary
}

/** A call as a function. */
export type CallFunction = <const Results extends readonly ResultSpec[]>(
  operands: Tensors,
  options: CallOptions<Results>,
) => CallResults<Results>

/** A prepared call, and what it was prepared for. */
interface Kept {
  readonly call: PreparedCall
  readonly attrs: Snapshot
  readonly alignment: number | undefined
}

const NO_ATTRIBUTES: AttributeDictionary = Object.freeze({})

/**
 * A function that prepares a call, runs it, and keeps it for the next call that is alike.
 *
 * @param keeps false for calls with a state, which belongs to one call site: they are closed at once.
 */
export function callFunction(
  prepare: (options: PrepareOptions & { readonly attrs: AttributeDictionary }) => PreparedCall,
  keeps: boolean,
): CallFunction {
  let kept: Kept | undefined
  return (operands, options) => {
    checkOperands(operands)
    const results = resultsOf(options)
    const { alignment, attrs = NO_ATTRIBUTES } = options
    const alike = kept !== undefined && isAlike(kept, operands, results, attrs, alignment) ? kept : undefined
    const call = alike?.call ?? prepare({ operands, results, attrs, ...(alignment === undefined ? {} : { alignment }) })
    // While it runs nobody finds it: a call from a callback of the kernel needs one of its own.
    if (alike !== undefined) kept = undefined
    try {
      call.run(operands, results)
    } finally {
      // A call that is kept would keep open what its pointers lead to.
      if (keeps && memoryOf(attrs).length === 0) {
        kept?.call.close()
        kept = alike ?? { call, attrs: snapshot(attrs), alignment }
      } else {
        call.close()
      }
    }
    return (results.length === 1 ? results[0] : results) as never
  }
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
  throw new ArgumentError(`operands must be an array of tensors, got ${describe(operands)}`, {
    hint: "make tensors with tensor('f32', [2, 4], values).",
  })
}

function resultsOf(options: ResultOptions<readonly ResultSpec[]>): Tensors {
  if (!Array.isArray(options?.results)) {
    throw new ArgumentError(`results must be an array of tensors or types, got ${describe(options?.results)}`, {
      hint: 'a kernel does not tell what it returns: write results: [f32([2, 4])].',
    })
  }
  const specs: readonly unknown[] = options.results
  return specs.map((spec, i) => {
    if (spec instanceof Tensor) return spec
    if (spec instanceof TensorType) return allocate(spec, options)
    throw new ArgumentError(`result ${i} must be a tensor or a type, got ${describe(spec)}`)
  })
}

/** Memory that is aligned as tensors are, or as the call asks for if that is more. */
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
