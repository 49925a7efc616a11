import { TensorType, type NativeAllocator, type Tensor } from '@tenon/core'
import { checkOptions, wrongType } from '@tenon/core/internal'
import { CallAttributes, opaqueReader } from '../attributes/call-attributes.ts'
import type { AttributeDictionary } from '../attributes/encode-attributes.ts'
import { allocateResult } from './allocate-result.ts'
import type { CallArguments, CallForm } from './call-function.ts'
import type { Callee } from './callee.ts'
import type { FrameCall } from './frames.ts'
import {
  copyTensors,
  FIRST_TENSOR,
  isTensor,
  listFor,
  MAKE_TENSORS,
  MOST_TENSORS,
  ownTensor,
  refuseTensor,
  typesOf,
} from './operand-list.ts'
import { checkProgramOptions, PROGRAM_OPTIONS, type ProgramOptions } from '../shape/program-options.ts'
import { ASYNC_OPTIONS, type RunAsyncOptions } from './run-later.ts'

/** A result of a call: a tensor that the kernel writes to, or a type, for which the call allocates a tensor. */
export type ResultSpec = Tensor | TensorType

/** The return value of a call: a single result, or an array of all results. */
export type CallResults<Results extends readonly ResultSpec[]> = number extends Results['length']
  ? Tensor | readonly Tensor[]
  : Results extends readonly [ResultSpec]
    ? Tensor
    : { readonly [Index in keyof Results]: Tensor }

/** The results of a call. */
export interface ResultOptions<Results extends readonly ResultSpec[]> extends ProgramOptions {
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

type AnyOptions = CallOptions<readonly ResultSpec[]> & HostCallOptions<readonly ResultSpec[]> & RunAsyncOptions

const NO_OPTIONS = Object.freeze({}) as AnyOptions

const NO_NAMES: readonly string[] = Object.freeze([])

/** The option that a call is prepared with besides its tensors: the attributes of a typed call, or the opaque string. */
export type ExtraOption = 'attrs' | 'opaque'

/** The tensors with which a call is prepared as examples of their types, and the extra option. */
export interface ListedShape {
  readonly operands: readonly Tensor[]
  readonly results: readonly Tensor[]
  readonly alignment?: number
  readonly attrs?: AttributeDictionary
  readonly opaque?: string | Uint8Array
}

/**
 * The form of calls without a signature: a list of operands, and then `{ results, attrs }` or `{ results, opaque }`.
 *
 * @param name of a kernel to which the operands are passed one by one instead.
 */
export function listedArguments<Call extends FrameCall>(
  extra: ExtraOption,
  { prepare, remote }: Pick<Callee<Call, never>, 'prepare' | 'remote'>,
  name?: string,
): CallForm<Call, CallArguments> {
  const further = remote?.options ?? NO_NAMES
  const ownAllocator = remote?.allocator
  const known = ['results', extra, 'allocator', 'alignment', ...PROGRAM_OPTIONS, ...further] as (keyof AnyOptions)[]
  const knownAsync = [...new Set([...known, ...ASYNC_OPTIONS])]
  const hasAttributes = extra === 'attrs'
  const reader = hasAttributes ? new CallAttributes() : opaqueReader
  const first = FIRST_TENSOR

  const readOptions = (options: AnyOptions, isAsync: boolean): AnyOptions => {
    if (isAsync) {
      const copy = { ...checkOptions(options, knownAsync) } as AnyOptions
      checkProgramOptions('the call', copy)
      return copy
    }
    for (const option in options) {
      if (option !== 'results' && option !== extra && option !== 'allocator' && option !== 'alignment') {
        checkProgramOptions('the call', checkOptions(options, known))
      }
    }
    // Workers read the options, too.
    return remote === undefined ? (options ?? NO_OPTIONS) : { ...options }
  }

  return {
    read: (args, isAsync) => {
      const [tensors, last] = name === undefined ? args : splitArguments(name, args)
      const options = readOptions(last as AnyOptions, isAsync)
      const { results, allocator = ownAllocator, alignment } = options
      const attributes = reader.read(hasAttributes ? options.attrs : options.opaque)
      const operandCount = countOf(tensors, refuseOperands)
      const resultCount = countOf(results, refuseResults)
      const total = operandCount + resultCount
      const list = listFor(total)
      copyTensors(list, tensors as readonly unknown[], operandCount, results, resultCount)
      completeTensors(list, operandCount, allocator, alignment)
      const isKeepable = alignment === undefined || typeof alignment === 'number'
      const variant = alignment !== undefined && isKeepable ? String(alignment) : undefined
      return { list, operandCount, attributes, variant, isKeepable, isComplete: true, options }
    },
    prepare: ({ list, operandCount, attributes, options: { alignment } }) =>
      prepare({
        operands: list.slice(first, first + operandCount),
        results: list.slice(first + operandCount),
        alignment,
        [extra]: reader.write(attributes),
      } as never),
    // The caller passes all tensors.
    inference:
      () =>
      ({ list }) =>
        typesOf(list) as TensorType[],
    valueOf: ({ list, operandCount }) => {
      const firstResult = first + operandCount
      return list.length === firstResult + 1 ? list[firstResult] : list.slice(firstResult)
    },
  }
}

/** Splits the arguments of a kernel into the operands and the options, which are missing only for a kernel without results. */
function splitArguments(name: string, args: readonly unknown[]): [operands: unknown, options: unknown] {
  const own = args.map((arg, i) => ownTensor(arg, `operand ${i} of ${name}`))
  const last = own.findIndex((arg) => !isTensor(arg))
  const count = last === -1 ? own.length : last
  if (own.length > count + 1) refuseTensor(own[count], `operand ${count} of ${name}`)
  return [own.slice(0, count), own[count]]
}

/** Returns the length of an array, which is read once. @throws {ArgumentError} for another value, or an array that is too long. */
function countOf(list: unknown, refuse: (list: unknown, most?: number) => never): number {
  if (!Array.isArray(list)) return refuse(list)
  const { length } = list
  return length <= MOST_TENSORS ? length : refuse(list, MOST_TENSORS)
}

/** Checks the tensors of a list, and allocates the results of types. @throws {ArgumentError} */
function completeTensors(
  list: unknown[],
  operandCount: number,
  allocator: NativeAllocator | undefined,
  alignment: number | undefined,
): void {
  const firstResult = FIRST_TENSOR + operandCount
  for (let i = FIRST_TENSOR; i < firstResult; i++) {
    if (isTensor(list[i])) continue
    const place = `operand ${i - FIRST_TENSOR}`
    list[i] = ownTensor(list[i], place)
    if (!isTensor(list[i])) refuseTensor(list[i], place)
  }
  for (let i = firstResult; i < list.length; i++) {
    if (isTensor(list[i])) continue
    const place = `result ${i - firstResult}`
    const spec = (list[i] = ownTensor(list[i], place))
    if (spec instanceof TensorType) list[i] = allocateResult(spec, allocator, alignment)
    else if (!isTensor(spec)) refuseTensor(spec, place, 'a tensor or a type')
  }
}

function refuseOperands(operands: unknown, most?: number): never {
  throw wrongType('operands', `an array of ${upTo(most)}tensors`, operands, MAKE_TENSORS)
}

function refuseResults(results: unknown, most?: number): never {
  const hint = 'Write { results: [f32([2, 4])] }, because only the kernel knows the types of its results.'
  throw wrongType('results', `an array of ${upTo(most)}tensors or types`, results, hint)
}

const upTo = (most: number | undefined): string => (most === undefined ? '' : `at most ${most} `)
