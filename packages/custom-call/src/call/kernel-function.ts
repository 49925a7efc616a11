import { ArgumentError, TensorType, type KernelSignature, type Parameter, type Tensor } from '@tenon/core'
import { wrongType, type Gated } from '@tenon/core/internal'
import { ASYNC_OPTIONS, type RunAsyncOptions } from '../async/run-later.ts'
import { CallAttributes } from '../attributes/call-attributes.ts'
import { aliasedPairs, shareMemory } from './aliased-results.ts'
import { allocateResult } from './allocate-result.ts'
import { group, type Grouped } from './grouped.ts'
import { takeResults } from './given-results.ts'
import { kernelBatch } from './kernel-batch.ts'
import type { RemoteCallee, RemoteRun } from './remote-callee.ts'
import { signatureLayouts, takeNamedLayouts, type KernelLayouts } from './kernel-layouts.ts'
import { typeInLayout } from '../shape/layouts.ts'
import { attributesHint, prepareHint } from './kernel-hints.ts'
import {
  CALL_OPTIONS,
  NO_OPTIONS,
  readOptions,
  refuseMisplacedOptions,
  type KernelAsyncOptions,
  type KernelCallOptions,
  type KernelPrepareOptions,
} from './kernel-options.ts'
import { kernelShape, withoutTokens, type KernelShape } from './kernel-shape.ts'
import {
  makeKeptFrames,
  type FrameCall,
  type FrameKey,
  type FrameLimits,
  type InPlaceRuns,
  type RunFrame,
} from './kept-frames.ts'
import type { Tensors } from './call-target.ts'
import { FIRST_TENSOR, isTensor, makeList, refuseTensor, UNSET } from './taken.ts'
import { refuseOperands, takeOperands } from './take-operands.ts'

/** The types and options with which a call is prepared. */
export type KernelCallShape = KernelShape & Pick<KernelCallOptions, 'alignment' | 'stream' | 'resources'>

/** The function behind a kernel, of any convention. */
export interface KernelCallee<Call extends FrameCall> {
  readonly frames: FrameLimits
  /** Throws in the place of `kernel.prepare()`, if the calls can only be run by the kernel. */
  readonly refusePrepare?: () => never
  /** Prepares a call. @throws {ArgumentError} if something cannot be passed. */
  prepare(shape: KernelCallShape): Call
  readonly run: RunFrame<Call>
  /** For calls that run in this process. */
  readonly inPlace?: InPlaceRuns<Call>
  /** Runs a call on another thread, and closes it unless it is shared. The results are behind the operands. */
  runAsync(call: Call, tensors: Tensors, options: RunAsyncOptions): Promise<void>
  /** For calls that run in another process. */
  readonly remote?: RemoteCallee<Call>
}

/** The functions of a kernel. */
export interface KernelForms<Call> {
  call(...args: unknown[]): unknown
  async(...args: unknown[]): Promise<unknown>
  /** Runs calls, each of which is an array of arguments. Only for calls that run in another process. */
  batch(calls: unknown): Promise<PromiseSettledResult<unknown>[]>
  prepare(types: unknown, attributes?: unknown, options?: KernelPrepareOptions): Call
}

/** The arguments of one call. Each is read once. */
export interface Taken {
  /** Places for the call and its library, the operands, and the results; `undefined` for a result to infer. */
  readonly list: (Gated | undefined)[]
  readonly operandCount: number
  readonly given: Grouped<Tensor | TensorType>
  readonly attributes: readonly unknown[]
  readonly layouts: KernelLayouts
  readonly options: KernelAsyncOptions
}

/** Makes the functions of a kernel. */
export function kernelFunction<Call extends FrameCall>(
  signature: KernelSignature,
  { frames: limits, prepare, run: runFrame, inPlace, runAsync, remote }: KernelCallee<Call>,
): KernelForms<Call> {
  const { name } = signature
  const ownAllocator = remote?.allocator
  const known: readonly string[] = remote === undefined ? CALL_OPTIONS : [...CALL_OPTIONS, ...remote.options]
  const knownAsync: readonly string[] = [...new Set([...known, ...ASYNC_OPTIONS])]
  const operands = withoutTokens(signature.operands)
  const results = withoutTokens(signature.results)
  const pairs = aliasedPairs(signature)
  const ownLayouts = signatureLayouts(operands, results)
  const hasAttributes = signature.attributes.length > 0
  const isOne = ({ kind }: Parameter): boolean => kind === 'one'
  /** Whether all calls without options have the same number of tensors, and can be read in place. */
  const isFixed = operands.every(isOne) && results.every(isOne) && pairs.length === 0
  const isSingle = results.length === 1 && results.every(isOne)
  const refuseExtra = (value: unknown): void => {
    if (isTensor(value)) refuseOperands(signature, [...operands.map(() => value), value])
  }
  const reader = new CallAttributes(`the attributes of ${name}`, attributesHint(signature), refuseExtra)
  const frames = makeKeptFrames(limits, runFrame)
  const first = FIRST_TENSOR
  const operandTotal = operands.length
  const resultTotal = results.length
  const none = results.map(() => undefined)

  const take = (args: readonly unknown[], knownOptions: readonly string[]): Taken => {
    const { tensors, next } = takeOperands(signature, operands, args)
    const attributes = reader.read(hasAttributes ? args[next] : undefined)
    const at = hasAttributes ? next + 1 : next
    if (args.length > at + 1) refuseMore(signature, args.length, tensors.length + (hasAttributes ? 2 : 1))
    const options = readOptions(name, args[at], knownOptions)
    const { into, results: types, layouts: named } = options
    const layouts = takeNamedLayouts(name, ownLayouts, operands, results, named)
    const list: (Gated | undefined)[] = [UNSET, UNSET, ...tensors]
    if (isFixed && into === undefined && types === undefined) {
      list.push(...none)
      return { list, operandCount: tensors.length, given: none, attributes, layouts, options }
    }
    const given = takeResults(name, results, into, types)
    given.forEach((one, i) => {
      const donated = pairs.find(({ result, isDonated }) => result === i && isDonated)
      const layout = layouts.results[i]
      const place = (value: Tensor | TensorType): Gated => {
        if (!(value instanceof TensorType)) return value
        const type = layout === undefined ? value : typeInLayout(value, layout, `${results[i]!.name} of ${name}`)
        return allocateResult(type, options.allocator ?? ownAllocator, options.alignment)
      }
      if (Array.isArray(one)) for (const each of one) list.push(place(each))
      else if (one !== undefined) list.push(place(one as Tensor | TensorType))
      else if (donated !== undefined) list.push(tensors[donated.operand])
      else if (isOne(results[i]!)) list.push(undefined)
    })
    return { list, operandCount: tensors.length, given, attributes, layouts, options }
  }

  /** Prepares a call of these tensors. */
  const open = ({ list, operandCount, given, attributes, layouts, options }: Taken): Call => {
    const types = typesOf(list)
    const values = reader.write(attributes) as object
    refuseMisplacedOptions(signature, values, knownAsync)
    const shape = kernelShape(
      signature,
      group(operands, types.slice(0, operandCount) as TensorType[]),
      values,
      likewise(results, given, types.slice(operandCount)),
      layouts,
    )
    const { alignment, stream, resources } = options
    return prepare({ ...shape, alignment, stream, resources } as KernelCallShape)
  }

  /** Allocates the results that the caller did not pass. No place is empty afterwards. */
  const complete = (
    list: (Gated | undefined)[],
    operandCount: number,
    call: Call,
    options: KernelCallOptions,
  ): Gated[] => {
    const { types } = call.shape
    for (let i = operandCount; i < types.length; i++) {
      list[first + i] ??= allocateResult(types[i]!, options.allocator ?? ownAllocator, options.alignment)
    }
    if (pairs.length > 0) shareMemory(name, pairs, list as Gated[], operandCount)
    return list as Gated[]
  }

  const valueOf = (list: readonly unknown[], operandCount: number, given: Grouped<unknown>): unknown => {
    if (isSingle) return list[first + operandCount]
    if (resultTotal === 0) return undefined
    let next = first + operandCount
    return Object.fromEntries(
      results.map((parameter, i) => {
        const one = given[i]
        if (Array.isArray(one)) return [parameter.name, list.slice(next, (next += one.length))]
        return [parameter.name, one !== undefined || isOne(parameter) ? list[next++] : undefined]
      }),
    )
  }

  const run = (taken: Taken): unknown => {
    const { list, operandCount, given, attributes, options } = taken
    const { alignment } = options
    const frame = isKept(options)
      ? frames.find(list, operandCount, alignment, taken.layouts.key, attributes)
      : undefined
    if (frame === undefined) return runNew(taken)
    try {
      runFrame(frame.call, complete(list, operandCount, frame.call, options), options)
    } catch (error) {
      frame.memory.running = false
      throw error
    }
    return valueOf(list, operandCount, given)
  }

  /** Prepares and runs a call for which no frame is kept. */
  const runNew = (taken: Taken): unknown => {
    const { list, operandCount, given, options } = taken
    const key = keyOf(taken)
    const made = open(taken)
    let all: Gated[]
    try {
      all = complete(list, operandCount, made, options)
    } catch (error) {
      made.close()
      throw error
    }
    if (isKept(options)) frames.runNew(made, key, all, options)
    else runOnce(made, all)
    return valueOf(list, operandCount, given)
  }

  /** Most calls have as many tensors as their signature, and no option but `into`. They are read in place. */
  const call = (...args: unknown[]): unknown => {
    const count = args.length
    const optionsAt = hasAttributes ? operandTotal + 1 : operandTotal
    if (!isFixed || count < operandTotal || count > optionsAt + 1) return run(take(args, known))
    for (let i = 0; i < operandTotal; i++) if (!isTensor(args[i])) return run(take(args, known))
    let into: unknown
    if (count > optionsAt) {
      const options = args[optionsAt]
      if (!isSingle || !hasOnlyInto(options)) return run(take(args, known))
      into = options.into
      // Options are read once, so the slow way gets what was read.
      if (into !== undefined && !isTensor(into)) return run(take([...args.slice(0, optionsAt), { into }], known))
    }
    const attributes = reader.read(hasAttributes && count > operandTotal ? args[operandTotal] : undefined)
    if (into !== undefined && inPlace !== undefined) {
      const guessed = frames.guess(operandTotal + 1, operandTotal, attributes)
      if (guessed !== undefined) {
        try {
          const tensors = inPlace.tensorsOf(guessed.call)
          for (let i = 0; i < operandTotal; i++) tensors[first + i] = args[i] as Tensor
          tensors[first + operandTotal] = into as Tensor
          if (inPlace.tryRun(guessed.call)) return into
          inPlace.leave(guessed.call)
        } catch (error) {
          // First, because leave() throws too if the stack is full.
          guessed.memory.running = false
          inPlace.leave(guessed.call)
          throw error
        }
        frames.miss()
      }
    }
    const list: (Gated | undefined)[] = makeList(operandTotal + resultTotal)
    for (let i = 0; i < operandTotal; i++) list[first + i] = args[i] as Tensor
    const firstResult = first + operandTotal
    for (let i = 0; i < resultTotal; i++) list[firstResult + i] = undefined
    if (into !== undefined) list[firstResult] = into as Tensor
    const frame = frames.find(list, operandTotal, undefined, undefined, attributes)
    if (frame === undefined) {
      const given = into === undefined ? none : [into as Tensor]
      return runNew({ list, operandCount: operandTotal, given, attributes, layouts: ownLayouts, options: NO_OPTIONS })
    }
    try {
      if (into === undefined) allocateResults(list, frame.call.shape.types)
      runFrame(frame.call, list as Gated[])
    } catch (error) {
      frame.memory.running = false
      throw error
    }
    return isSingle ? list[firstResult] : valueOf(list, operandTotal, none)
  }

  const allocateResults = (list: (Gated | undefined)[], types: readonly TensorType[]): void => {
    for (let i = operandTotal; i < types.length; i++) list[first + i] = allocateResult(types[i]!, ownAllocator)
  }

  /** Prepares an asynchronous call, or finds one if calls can be shared, and allocates the results. */
  const begin = (taken: Taken): RemoteRun<Call> => {
    const { list, operandCount, options } = taken
    const key = remote !== undefined && isKept(options) ? keyOf(taken) : undefined
    const frame = key && frames.find(list, operandCount, key.alignment, key.layouts, key.attributes)
    if (frame !== undefined) frame.memory.running = false
    const opened = frame?.call ?? open(taken)
    let tensors: Tensors
    try {
      tensors = complete(list, operandCount, opened, options).slice(first) as unknown as Tensors
    } catch (error) {
      if (frame === undefined) opened.close()
      throw error
    }
    if (key !== undefined && frame === undefined) frames.keep(opened, key)
    return { call: opened, tensors, options }
  }

  const async = async (...args: unknown[]): Promise<unknown> => {
    const taken = take(args, knownAsync)
    const { call: begun, tensors, options } = begin(taken)
    const { signal, deadline } = options
    await runAsync(begun, tensors, remote === undefined ? { signal, deadline } : options)
    return valueOf(taken.list, taken.operandCount, taken.given)
  }

  const batch = kernelBatch<Call>(
    name,
    (args) => {
      const taken = take(args, knownAsync)
      return { run: begin(taken), value: () => valueOf(taken.list, taken.operandCount, taken.given) }
    },
    remote,
  )

  const runOnce = (once: Call, list: Gated[]): void => {
    once.memory.running = true
    try {
      runFrame(once, list)
    } finally {
      once.close()
    }
  }

  const prepareTypes = (types: unknown, attributes?: unknown, options?: KernelPrepareOptions): Call => {
    if (!Array.isArray(types)) {
      throw wrongType(`the operands of ${name}`, 'an array of types or tensors', types, prepareHint(signature))
    }
    const { results: given, layouts: named, ...rest } = readOptions(name, options, PREPARE_OPTIONS)
    const layouts = takeNamedLayouts(name, ownLayouts, operands, results, named)
    // Omitted operands are undefined, so an array that claims any length is read up to the first operand that does not exist.
    const length = Math.min(types.length, operandTotal + 1)
    const operandTypes = Array.from({ length }, (_, i) => typesIn(types[i], `operand ${i} of ${name}`))
    const resultTypes = takeResults(name, results, undefined, given).map((one, i) =>
      typesIn(one, `result ${i} of ${name}`),
    )
    const shape = kernelShape(signature, operandTypes, attributes, resultTypes, layouts)
    return prepare({ ...shape, ...rest } as KernelCallShape)
  }

  return { call, async, batch, prepare: prepareTypes }
}

const PREPARE_OPTIONS = ['results', 'layouts', 'alignment', 'stream', 'resources'] as const

/** Whether a call may use a frame. A frame would hold the stream and the resources open. */
const isKept = ({ stream, resources }: KernelCallOptions): boolean => stream === undefined && resources === undefined

function keyOf({ list, operandCount, layouts, attributes, options }: Taken): FrameKey {
  return { types: typesOf(list), operandCount, alignment: options.alignment, layouts: layouts.key, attributes }
}

function typesOf(list: readonly (Gated | undefined)[]): (TensorType | undefined)[] {
  return list.slice(FIRST_TENSOR).map((tensor) => (tensor as Tensor | undefined)?.type)
}

/** Whether the options of a call are an object with no key but `into`. */
function hasOnlyInto(options: unknown): options is { readonly into?: unknown } {
  if (typeof options !== 'object' || options === null) return false
  try {
    for (const name in options) if (name !== 'into') return false
    return true
  } catch {
    // The slow way reports it.
    return false
  }
}

/** Groups the types of results as the caller grouped the results. A result that may be omitted has a type only if it was passed. */
function likewise(
  parameters: readonly Parameter[],
  given: Grouped<unknown>,
  types: readonly (TensorType | undefined)[],
): Grouped<TensorType> {
  let next = 0
  return parameters.map(({ kind }, i) => {
    const one = given[i]
    if (Array.isArray(one)) return types.slice(next, (next += one.length)) as TensorType[]
    return one === undefined && kind !== 'one' ? undefined : types[next++]
  })
}

function typesIn(value: unknown, place: string): TensorType | readonly TensorType[] | undefined {
  if (value === undefined) return undefined
  if (Array.isArray(value)) return Array.from(value as unknown[], (one, i) => typeIn(one, `${place}: number ${i}`))
  return typeIn(value, place)
}

function typeIn(value: unknown, place: string): TensorType {
  if (isTensor(value)) return value.type
  return value instanceof TensorType ? value : refuseTensor(value, place, 'a tensor or a type')
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
