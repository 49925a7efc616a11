import { gcAllocator, tensor, Tensor, TensorType, type NativeAllocator } from '@tenon/core'
import { checkAlignment, checkOptions, TENSOR_ALIGNMENT, wrongType } from '@tenon/core/internal'
import type { RunAsyncOptions } from '../async/run-later.ts'
import { memoryOf, type AttributeDictionary } from '../attributes/encode-attributes.ts'
import { isSame, snapshot, type Snapshot } from '../attributes/snapshot.ts'
import type { Tensors } from './call-target.ts'
import type { PreparedCall } from './prepared-call.ts'

/** A result of a call: a tensor that the kernel writes to, or a type, for which the call allocates a tensor. */
export type ResultSpec = Tensor | TensorType

/** The return value of a call: a single result, or an array of all results. */
export type CallResults<Results extends readonly ResultSpec[]> = number extends Results['length']
  ? Tensor | readonly Tensor[]
  : Results extends readonly [ResultSpec]
    ? Tensor
    : { readonly [Index in keyof Results]: Tensor }

/** The results of a call. */
export interface ResultOptions<Results extends readonly ResultSpec[]> {
  readonly results: Results
  /** The allocator for results that are specified as types. By default, the garbage collector frees their memory. */
  readonly allocator?: NativeAllocator
  /** The alignment of all tensors in bytes; by default the size of their elements. */
  readonly alignment?: number
}

/** The options of an untyped call as a function. */
export interface HostCallOptions<Results extends readonly ResultSpec[]> extends ResultOptions<Results> {
  /** Arbitrary bytes for the function, in addition to its buffers. Only STATUS_RETURNING_UNIFIED passes these bytes. */
  readonly opaque?: string | Uint8Array
}

/** The options of a typed call as a function. */
export interface CallOptions<Results extends readonly ResultSpec[]> extends ResultOptions<Results> {
  readonly attrs?: AttributeDictionary
}

export interface CallForms {
  call(operands: Tensors, options: CallOptions<readonly ResultSpec[]>): unknown
  async(operands: Tensors, options: CallOptions<readonly ResultSpec[]> & RunAsyncOptions): Promise<unknown>
}

type AnyOptions = CallOptions<readonly ResultSpec[]> & HostCallOptions<readonly ResultSpec[]> & RunAsyncOptions

interface Used {
  readonly call: PreparedCall
  readonly extra: Snapshot
  readonly alignment: number | undefined
  /** Whether a later call that is alike may use it as well. */
  readonly isKept: boolean
}

const NO_ATTRIBUTES: AttributeDictionary = Object.freeze({})

/**
 * Makes functions that prepare a call and run it. The synchronous one keeps the call for the next call that is alike.
 *
 * @param extra the option that a call is prepared with besides its tensors.
 * @param keeps false for calls with a state, because they belong to one call site.
 */
export function callFunction(
  extra: 'attrs' | 'opaque',
  prepare: (options: never) => PreparedCall,
  keeps: boolean,
): CallForms {
  const known = ['results', extra, 'allocator', 'alignment'] as const
  const open = (operands: Tensors, results: Tensors, { alignment, [extra]: value }: AnyOptions): PreparedCall =>
    prepare({ operands, results, alignment, [extra]: value } as never)
  let kept: Used | undefined
  const call = (operands: Tensors, options: AnyOptions): unknown => {
    checkOperands(operands)
    for (const name in options) if (!(known as readonly string[]).includes(name)) checkOptions(options, known)
    const results = resultsOf(options)
    const { [extra]: value = NO_ATTRIBUTES, alignment } = options
    let used = kept
    if (used !== undefined && isAlike(used, operands, results, value, alignment)) {
      // Nobody else finds the kept call while it runs. A call from a callback of the kernel needs another one.
      kept = undefined
    } else {
      // A call that is kept would keep open the memory that its pointers refer to.
      const isKept = keeps && memoryOf(value).length === 0
      used = { call: open(operands, results, options), extra: snapshot(value), alignment, isKept }
    }
    try {
      used.call.run(operands, results)
    } finally {
      if (used.isKept) {
        kept?.call.close()
        kept = used
      } else {
        used.call.close()
      }
    }
    return valueOf(results)
  }
  const async = async (operands: Tensors, options: AnyOptions): Promise<unknown> => {
    checkOperands(operands)
    checkOptions(options, [...known, 'signal'])
    const results = resultsOf(options)
    const prepared = open(operands, results, options)
    try {
      await prepared.runAsync(operands, results, { signal: options.signal })
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
  { call, extra, alignment }: Used,
  operands: Tensors,
  results: Tensors,
  otherExtra: unknown,
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
    isSame(otherExtra, extra)
  )
}

/** Gives a function its name and members. They are not enumerable, so that `console.log` prints the function in one line. */
export function callable<Members extends object>(
  call: CallForms['call'],
  name: string,
  members: Members,
): CallForms['call'] & Members {
  for (const [key, value] of Object.entries({ ...members, name })) Object.defineProperty(call, key, { value })
  return call as CallForms['call'] & Members
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
