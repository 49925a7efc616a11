import { ArgumentError, gcAllocator, tensor, Tensor, TensorType, type NativeAllocator } from '@tenon/core'
import { checkAlignment, checkOptions, describe, TENSOR_ALIGNMENT, wrongType } from '@tenon/core/internal'
import { ASYNC_OPTIONS, type RunAsyncOptions } from '../async/run-later.ts'
import { memoryOf, type AttributeDictionary } from '../attributes/encode-attributes.ts'
import { isSame, snapshot } from '../attributes/snapshot.ts'
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

/** The options of a call, which are read once. */
interface Given {
  readonly results: Tensors
  readonly alignment: number | undefined
  readonly value: unknown
}

interface Used {
  readonly call: PreparedCall
  /** A snapshot of the attributes, or the opaque string. */
  readonly extra: unknown
  readonly alignment: number | undefined
  /** Whether a later call that is alike may use it as well. */
  readonly isKept: boolean
}

const MAKE_TENSORS = "Make tensors with tensor('f32', [2, 4], values)."

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
  const read = (options: AnyOptions): Given => {
    const { results, allocator, alignment, [extra]: value } = options ?? {}
    return { results: resultsOf(results, allocator, alignment), alignment, value }
  }
  const open = (operands: Tensors, { results, alignment, value }: Given): PreparedCall =>
    prepare({ operands, results, alignment, [extra]: value } as never)
  let kept: Used | undefined
  const call = (tensors: Tensors, options: AnyOptions): unknown => {
    for (const name in options) if (!(known as readonly string[]).includes(name)) checkOptions(options, known)
    const operands = operandsOf(tensors)
    const given = read(options)
    const { results } = given
    let used = kept
    // The attributes are read here, which can run code of the user. It may call this function.
    if (used !== undefined && isAlike(used, operands, given) && used === kept) {
      // Nobody else finds the kept call while it runs. A call from a callback of the kernel needs another one.
      kept = undefined
    } else {
      const copy = snapshot(given.value ?? NO_ATTRIBUTES)
      const prepared = open(operands, extra === 'attrs' ? { ...given, value: copy as AttributeDictionary } : given)
      // A call that is kept would keep open the memory that its pointers refer to.
      used = { call: prepared, extra: copy, alignment: given.alignment, isKept: keeps && memoryOf(copy).length === 0 }
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
  const async = async (tensors: Tensors, options: AnyOptions): Promise<unknown> => {
    checkOptions(options, [...known, ...ASYNC_OPTIONS])
    const operands = operandsOf(tensors)
    const given = read(options)
    const { signal, deadline } = options
    const prepared = open(operands, given)
    try {
      await prepared.runAsync(operands, given.results, { signal, deadline })
    } finally {
      prepared.closeAfterRun()
    }
    return valueOf(given.results)
  }
  return { call, async }
}

function valueOf(results: Tensors): Tensor | Tensors {
  return results.length === 1 ? results[0]! : results
}

function isAlike(
  { call, extra, alignment }: Used,
  operands: Tensors,
  { results, alignment: otherAlignment, value = NO_ATTRIBUTES }: Given,
): boolean {
  const { types, operandCount } = call.shape
  return (
    call.target.gate.open &&
    alignment === otherAlignment &&
    operands.length === operandCount &&
    results.length === types.length - operandCount &&
    haveTypes(operands, types, 0) &&
    haveTypes(results, types, operandCount) &&
    isSame(value, extra)
  )
}

function haveTypes(tensors: Tensors, types: readonly TensorType[], first: number): boolean {
  for (let i = 0; i < tensors.length; i++) if (tensors[i]!.type !== types[first + i]) return false
  return true
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

/** Copies the operands. Each is read once. @throws {ArgumentError} */
function operandsOf(tensors: unknown): Tensors {
  const expected = 'an array of tensors'
  if (!Array.isArray(tensors)) throw wrongType('operands', expected, tensors, MAKE_TENSORS)
  const operands: Tensor[] = []
  const count = tensors.length
  for (let i = 0; i < count; i++) {
    const operand: unknown = tensors[i]
    if (!(operand instanceof Tensor)) {
      throw new ArgumentError(`operands must be ${expected}, got ${describe(operand)} for operand ${i}`, {
        hint: MAKE_TENSORS,
        details: { name: `operand ${i}`, expected: 'a tensor', received: describe(operand) },
      })
    }
    operands.push(operand)
  }
  return operands
}

function resultsOf(specs: unknown, allocator: NativeAllocator | undefined, alignment: number | undefined): Tensors {
  if (!Array.isArray(specs)) {
    const hint = 'Write results: [f32([2, 4])]: the types of its results are known to the kernel alone.'
    throw wrongType('results', 'an array of tensors or types', specs, hint)
  }
  const results: Tensor[] = []
  const count = specs.length
  for (let i = 0; i < count; i++) {
    const spec: unknown = specs[i]
    if (spec instanceof Tensor) results.push(spec)
    else if (spec instanceof TensorType) results.push(allocate(spec, allocator, alignment))
    else throw wrongType(`result ${i}`, 'a tensor or a type', spec)
  }
  return results
}

/** Allocates a result with the alignment of tensors, or of the call if that is greater. */
function allocate(
  { dtype, shape, packing }: TensorType,
  allocator: NativeAllocator = gcAllocator,
  alignment: number = TENSOR_ALIGNMENT,
): Tensor {
  if (alignment === TENSOR_ALIGNMENT) return tensor(dtype, shape, undefined, { packing, allocator })
  const aligned: NativeAllocator = {
    allocate: (byteSize) =>
      allocator.allocate(byteSize, Math.max(checkAlignment(alignment, 'alignment'), TENSOR_ALIGNMENT)),
  }
  return tensor(dtype, shape, undefined, { packing, allocator: aligned })
}
