import { ArgumentError, TensorType, type KernelSignature, type Parameter, type Tensor } from '@tenon/core'
import { inferSizes, readStrings, resolveAttributes, wrongType, type Gated } from '@tenon/core/internal'
import { CallAttributes } from '../attributes/call-attributes.ts'
import { readTyped } from '../attributes/encode-values.ts'
import { typeInLayout } from '../shape/layouts.ts'
import { aliasedPairs, shareMemory } from './aliased-results.ts'
import { allocateResult } from './allocate-result.ts'
import type { CallArguments, CallForm } from './call-function.ts'
import type { Callee } from './callee.ts'
import type { FrameCall, FrameKey } from './frames.ts'
import { readNamedLayouts, signatureLayouts, type KernelLayouts } from './kernel-layouts.ts'
import { readOperands, refuseOperands } from './kernel-operands.ts'
import {
  CALL_OPTIONS,
  NO_OPTIONS,
  readOptions,
  refuseMisplacedOptions,
  type KernelAsyncOptions,
  type KernelCallOptions,
  type KernelPrepareOptions,
} from './kernel-options.ts'
import { attributesHint, group, hasStrings, prepareHint, withoutTokens, type Grouped } from './kernel-parameters.ts'
import { readResults } from './kernel-results.ts'
import { kernelShape, typesInShape, type KernelShape } from './kernel-shape.ts'
import { FIRST_TENSOR, isTensor, listFor, ownTensor, refuseTensor, typesOf, UNSET } from './operand-list.ts'
import { ASYNC_OPTIONS } from './run-later.ts'
import { stringCalls } from './string-calls.ts'

/** The types and options with which a call of a kernel is prepared. */
export type KernelCallShape = KernelShape & Pick<KernelCallOptions, 'alignment' | 'stream' | 'resources'>

/** The arguments of one call of a kernel. */
interface KernelArguments extends CallArguments {
  /** The tensors and types of results that the caller passed, by parameter. */
  readonly results: Grouped<Tensor | TensorType>
  readonly layouts: KernelLayouts
  readonly options: KernelAsyncOptions
}

/** The form of a kernel's calls, and of its prepared calls. */
export interface KernelForm<Call extends FrameCall> extends CallForm<Call, KernelArguments> {
  /** Prepares a call for types. @throws {ArgumentError} if the types contradict the signature, or do not determine a result. */
  prepareTypes(types: unknown, attributes?: unknown, options?: KernelPrepareOptions): Call
}

const isOne = ({ kind }: Parameter): boolean => kind === 'one'

/** The form of calls with a signature: the operands in order, then the attributes if the kernel has some, and then the options. */
export function kernelArguments<Call extends FrameCall>(
  signature: KernelSignature,
  { prepare, remote }: Pick<Callee<Call, KernelCallShape>, 'prepare' | 'remote'>,
): KernelForm<Call> {
  const { name } = signature
  const ownAllocator = remote?.allocator
  const known: readonly string[] = remote === undefined ? CALL_OPTIONS : [...CALL_OPTIONS, ...remote.options]
  const knownAsync: readonly string[] = [...new Set([...known, ...ASYNC_OPTIONS])]
  const operands = withoutTokens(signature.operands)
  const results = withoutTokens(signature.results)
  const pairs = aliasedPairs(signature)
  const ownLayouts = signatureLayouts(operands, results)
  const hasAttributes = signature.attributes.length > 0
  /** Whether all calls without options have the same number of tensors. */
  const isFixed = operands.every(isOne) && results.every(isOne) && pairs.length === 0
  const strings = stringCalls(signature, remote)
  const isSingle = results.length === 1 && results.every(isOne)
  const refuseExtra = (value: unknown): void => {
    if (isTensor(value)) refuseOperands(signature, [...operands.map(() => value), value])
  }
  const reader = new CallAttributes(`the attributes of ${name}`, attributesHint(signature), refuseExtra)
  const first = FIRST_TENSOR
  const unset = UNSET
  const operandTotal = operands.length
  const optionsAt = hasAttributes ? operandTotal + 1 : operandTotal
  const total = operandTotal + results.length
  const none = results.map(() => undefined)
  const places = [...operands, ...results].map((one) => `${one.name} of ${name}`)

  /** Whether a call has as many operands as the signature, and no option but `into`. Nothing else is read. */
  const isSimple = (args: readonly unknown[]): boolean => {
    const count = args.length
    if (!isFixed || strings !== undefined || count < operandTotal || count > optionsAt + 1) return false
    return count <= optionsAt || (isSingle && hasOnlyInto(args[optionsAt]))
  }

  /** Reads the arguments of a call. Most are simple, and read without anything that other calls need. */
  const read: KernelForm<Call>['read'] = (args, isAsync) => {
    if (!isSimple(args)) return readAll(args, isAsync)
    const list = listFor(total)
    for (let i = 0; i < operandTotal; i++) {
      const value = args[i]
      const tensor = isTensor(value) ? value : ownTensor(value, places[i]!)
      if (!isTensor(tensor)) return readAll(args, isAsync)
      list[first + i] = tensor
    }
    // Options are read once.
    const given: unknown = args.length > optionsAt ? (args[optionsAt] as KernelCallOptions).into : undefined
    const into = given === undefined || isTensor(given) ? given : ownTensor(given, places[operandTotal]!)
    if (into !== undefined && !isTensor(into)) return readAll([...args.slice(0, optionsAt), { into }], isAsync)
    const attributes = reader.read(hasAttributes && args.length > operandTotal ? args[operandTotal] : undefined)
    if (into !== undefined) list[first + operandTotal] = into
    return {
      list,
      operandCount: operandTotal,
      attributes,
      variant: undefined,
      isKeepable: true,
      isComplete: into !== undefined,
      options: NO_OPTIONS,
      results: none,
      layouts: ownLayouts,
    }
  }

  /** Reads the arguments of all other calls. */
  const readAll = (args: readonly unknown[], isAsync: boolean): KernelArguments => {
    const { tensors, next } = readOperands(signature, operands, args)
    const attributes = reader.read(hasAttributes ? args[next] : undefined)
    const at = hasAttributes ? next + 1 : next
    if (args.length > at + 1) refuseMore(signature, args.length, tensors.length + (hasAttributes ? 2 : 1))
    const options = readOptions(name, args[at], isAsync ? knownAsync : known)
    const { alignment, stream, resources } = options
    // What is prepared would hold the stream and the resources open.
    const isKeepable = stream === undefined && resources === undefined && typeof (alignment ?? 0) === 'number'
    const layouts = readNamedLayouts(name, ownLayouts, operands, results, options.layouts)
    const passed = readResults(name, results, options.into, options.results)
    return {
      list: [unset, unset, ...tensors, ...passed.flatMap((one, i) => resultPlaces(one, i, tensors, layouts, options))],
      operandCount: tensors.length,
      attributes,
      variant: isKeepable && (alignment ?? layouts.key) !== undefined ? `${alignment} ${layouts.key}` : undefined,
      isKeepable,
      isComplete: false,
      options,
      results: passed,
      layouts,
    }
  }

  /** Returns the places of a result in a list of operands. Results of types are allocated. */
  const resultPlaces = (
    passed: Grouped<Tensor | TensorType>[number],
    index: number,
    tensors: readonly Tensor[],
    layouts: KernelLayouts,
    { allocator = ownAllocator, alignment }: KernelAsyncOptions,
  ): Gated[] => {
    const layout = layouts.results[index]
    const place = (value: Tensor | TensorType): Gated => {
      if (!(value instanceof TensorType)) return value
      const type = layout === undefined ? value : typeInLayout(value, layout, `${results[index]!.name} of ${name}`)
      return allocateResult(type, allocator, alignment)
    }
    if (Array.isArray(passed)) return passed.map(place)
    if (passed !== undefined) return [place(passed as Tensor | TensorType)]
    const donated = pairs.find(({ result, isDonated }) => result === index && isDonated)
    if (donated !== undefined) return [tensors[donated.operand]!]
    return isOne(results[index]!) ? [unset] : []
  }

  /** Returns the results of a kernel that does not have one of them, by name. */
  const valuesOf: KernelForm<Call>['valueOf'] = ({ list, operandCount, results: passed }) => {
    if (results.length === 0) return undefined
    let next = first + operandCount
    return Object.fromEntries(
      results.map((parameter, i) => {
        const one = passed[i]
        if (Array.isArray(one)) return [parameter.name, list.slice(next, (next += one.length))]
        return [parameter.name, one !== undefined || isOne(parameter) ? list[next++] : undefined]
      }),
    )
  }

  const shapeOf = ({ list, operandCount, results: passed, attributes, layouts }: KernelArguments): KernelShape => {
    const types = typesOf(list)
    const values = reader.write(attributes) as object
    refuseMisplacedOptions(signature, values, knownAsync)
    return kernelShape(
      signature,
      group(operands, types.slice(0, operandCount) as TensorType[]),
      values,
      likewise(results, passed, types.slice(operandCount)),
      layouts,
    )
  }

  /** Returns the inference for calls of other sizes, which {@link shapeOf} does if the signature needs more than their sizes. */
  const inference = ({ types, attributes }: FrameKey): ReturnType<KernelForm<Call>['inference']> => {
    const values = resolveAttributes(signature, reader.write(attributes), readTyped)
    const infer = isFixed ? inferSizes(signature, types, values) : undefined
    return (args) => infer?.(typesOf(args.list)) ?? typesInShape(shapeOf(args))
  }

  return {
    read,
    prepare: (args) => {
      const { alignment, stream, resources } = args.options
      return prepare({ ...shapeOf(args), alignment, stream, resources } as KernelCallShape)
    },
    inference,
    ...(pairs.length > 0 && { share: (list, operandCount) => shareMemory(name, pairs, list, operandCount) }),
    strings,
    valueOf: isSingle ? ({ list, operandCount }) => list[first + operandCount] : valuesOf,
    prepareTypes: (types, attributes, options) => {
      if (results.some(hasStrings)) refusePrepare(name)
      if (!Array.isArray(types)) {
        throw wrongType(`the operands of ${name}`, 'an array of types or tensors', types, prepareHint(signature))
      }
      const { results: own, layouts: named, ...rest } = readOptions(name, options, PREPARE_OPTIONS)
      const layouts = readNamedLayouts(name, ownLayouts, operands, results, named)
      // Omitted operands are undefined, so an array that claims any length is read up to the first operand that does not exist.
      const length = Math.min(types.length, operandTotal + 1)
      const operandTypes = Array.from({ length }, (_, i) => typesIn(types[i], operands[i], `operand ${i} of ${name}`))
      const resultTypes = readResults(name, results, undefined, own).map((one, i) =>
        typesIn(one, results[i], `result ${i} of ${name}`),
      )
      const shape = kernelShape(signature, operandTypes, attributes, resultTypes, layouts)
      return prepare({ ...shape, ...rest } as KernelCallShape)
    },
  }
}

const PREPARE_OPTIONS = ['results', 'layouts', 'alignment', 'stream', 'resources'] as const

/** Whether the options of a call are an object with no key but `into`. */
function hasOnlyInto(options: unknown): options is { readonly into?: unknown } {
  if (typeof options !== 'object' || options === null) return false
  try {
    for (const name in options) if (name !== 'into') return false
    return true
  } catch {
    // Reading all arguments reports it.
    return false
  }
}

/** Groups the types of results as the caller grouped the results. A result that may be omitted has a type only if it was passed. */
function likewise(
  parameters: readonly Parameter[],
  results: Grouped<unknown>,
  types: readonly (TensorType | undefined)[],
): Grouped<TensorType> {
  let next = 0
  return parameters.map(({ kind }, i) => {
    const one = results[i]
    if (Array.isArray(one)) return types.slice(next, (next += one.length)) as TensorType[]
    return one === undefined && kind !== 'one' ? undefined : types[next++]
  })
}

/** @param parameter undefined for more values than the signature has. */
function typesIn(
  value: unknown,
  parameter: Parameter | undefined,
  place: string,
): TensorType | readonly TensorType[] | undefined {
  if (value === undefined) return undefined
  const ofStrings = parameter !== undefined && hasStrings(parameter)
  if (Array.isArray(value))
    return Array.from(value as unknown[], (one, i) => typeIn(one, ofStrings, `${place}: number ${i}`))
  return typeIn(value, ofStrings, place)
}

function typeIn(value: unknown, ofStrings: boolean, place: string): TensorType {
  if (value instanceof TensorType) return value
  if (ofStrings) return isTensor(value) ? value.type : readStrings(value, place).type
  const tensor = ownTensor(value, place)
  return isTensor(tensor) ? tensor.type : refuseTensor(value, place, 'a tensor or a type')
}

/** @throws {ArgumentError} because the memory of strings is allocated after a call, and a prepared call takes that of its results. */
function refusePrepare(name: string): never {
  throw new ArgumentError(
    `${name} must be called without prepare(), because it returns strings, which the call allocates`,
    {
      hint: 'Call the kernel itself, which keeps what it has prepared for calls with the same types and attributes.',
      details: { path: name },
    },
  )
}

function refuseMore({ name, operands, attributes }: KernelSignature, received: number, most: number): never {
  const names = operands.map((one) => one.name).join(', ')
  const first = operands.length === 0 ? '' : `the operands (${names}), then `
  const second = attributes.length === 0 ? '' : 'the attributes as one object, then '
  throw new ArgumentError(`${name} takes at most ${most} arguments, got ${received}`, {
    hint: `Pass ${first}${second}the options.${second === '' ? ` ${name} has no attributes.` : ''}`,
    details: { path: name, expected: most, received },
  })
}
