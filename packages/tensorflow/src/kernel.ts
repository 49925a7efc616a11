import { ArgumentError, type CallTrace, gcAllocator, Tensor, UnsupportedError, type KernelSignature } from '@tenon/core'
import {
  checkedCall,
  checkLimits,
  checkName,
  guardMode,
  isTraced,
  newTrace,
  traceCall,
  traceLater,
  typesOf,
  wrongType,
  wrongValue,
  type Gate,
  type RunLimits,
  type Written,
} from '@tenon/core/internal'
import { resolveAttributes } from './attributes.ts'
import { isTensorList } from './bind-operands.ts'
import type { Frame } from './call/frame.ts'
import { clearWith, Instances } from './call/instances.ts'
import { factsOf } from './call/instance.ts'
import { hasKeptMemory, releaseKeptMemory } from './call/kept-memory.ts'
import { readArguments, type Arguments } from './call/arguments.ts'
import { checkOperand, checkStringOperands } from './call/operand.ts'
import { readInto, refuseOverlaps, valueOf } from './call/results.ts'
import { makeQuickCall, NOT_QUICK, type QuickCall } from './call/quick-call.ts'
import { enterFrame, finish, offer, type Run } from './call/run.ts'
import { runLater } from './call/run-later.ts'
import { chooseKernel, type KernelChoice } from './choose-kernel.ts'
import { checkOperationText, findDefinition, noDefinition, type OperationText } from './definition-sources.ts'
import { encodeDescription } from './native/encode-description.ts'
import { openHost } from './native/host.ts'
import type { OperationDefinition } from './operation.ts'
import type { RegisteredKernel, Registrations } from './registration.ts'
import { operationSignature, unsupportedReason } from './signature.ts'

/** The options with which a kernel is opened. */
export interface TensorFlowKernelOptions extends KernelChoice {
  /** The definition of the operation. It replaces that of the library. */
  readonly definition?: OperationText | undefined
  /** The number of kernel instances that are kept, one for each set of attributes: 1 to 64, by default 8. */
  readonly frames?: number | undefined
}

/** What opening a kernel needs besides the options of the user. */
export interface KernelContext {
  readonly path: string
  readonly gate: Gate
  readonly registrations: Registrations
  readonly sidecar?: OperationText | undefined
}

/** A kernel of TensorFlow's C API as a function. */
export interface TensorFlowKernel {
  /**
   * Calls the kernel with its operands in order, a list as one array, then the attributes as an object if it has attributes that the operands
   * do not determine, and then the options `into`, `allocator` and `signal`.
   *
   * @returns the result; an object of results by name if there are several; `undefined` if there are none. String tensors are
   * `StringTensor`s, or `{ layout, shape, segment }` in a program that uses neither `tenon` nor `@tenon/tstring`.
   * @throws {ArgumentError} if the call contradicts the definition. @throws {TensorFlowError} if the kernel fails
   * @throws {ScopeClosedError} if the library, or the memory of an operand, is closed
   */
  (...args: readonly unknown[]): unknown
  /** Calls the kernel on a thread of the core. The options may have `signal` and `deadline`. */
  async(...args: readonly unknown[]): Promise<unknown>
  /** Creates the kernel ahead, for operands and attributes as in a call. */
  prepare(operands: readonly unknown[], attributes?: object): void
  readonly signature: KernelSignature
  /** The registrations of the operation. */
  readonly handler: readonly RegisteredKernel[]
}

const DEFAULT_INSTANCES = 8
const MOST_INSTANCES = 64

/** A kernel that was found by the name of its operation. */
export interface FoundKernel {
  readonly operation: OperationDefinition
  readonly kernels: readonly RegisteredKernel[]
  readonly choice: KernelChoice
  readonly signature: KernelSignature
  /** The number of kernel instances that are kept. */
  readonly frames: number
}

/**
 * Finds a kernel by the name of its operation.
 *
 * @throws {ArgumentError} if the library did not register the operation, or no definition of it is known
 * @throws {UnsupportedError} if the operation has operands or attributes that exist only inside TensorFlow
 */
export function findKernel(
  { path, registrations, sidecar }: Pick<KernelContext, 'path' | 'registrations' | 'sidecar'>,
  name: string,
  { definition, frames = DEFAULT_INSTANCES, device, label }: TensorFlowKernelOptions,
): FoundKernel {
  checkName(name, 'name')
  if (!(Number.isInteger(frames) && frames >= 1 && frames <= MOST_INSTANCES)) {
    throw wrongValue('frames', `a whole number from 1 to ${MOST_INSTANCES}`, frames)
  }
  const kernels = registrations.kernels.filter(({ operation }) => operation === name)
  if (kernels.length === 0) throw new ArgumentError(`${path} must register a kernel of ${name}, got none`)
  const option = definition === undefined ? undefined : checkOperationText(definition, 'definition')
  const library = registrations.definitions.find((one) => one.name === name)
  const found = findDefinition(name, { option, library, sidecar })
  const { operation, source } = found
  if (operation === undefined || source === 'none') throw noDefinition(name, found, path)
  const reason = unsupportedReason(operation)
  if (reason !== undefined)
    throw new UnsupportedError(`${name} cannot be called, because ${reason}`, { details: { path } })
  return { operation, kernels, choice: { device, label }, signature: operationSignature(operation, source), frames }
}

/** Opens a kernel by the name of its operation. @throws see {@link findKernel} */
export function openKernel(
  context: KernelContext,
  name: string,
  options: TensorFlowKernelOptions = {},
): TensorFlowKernel {
  const found = findKernel(context, name, options)
  const { kernels, signature } = found
  const instances = new Instances(openHost(), found.frames)
  const caller = new Caller({ ...found, context, instances })
  const kernel = Object.assign((...args: readonly unknown[]) => caller.call(args), {
    async: (...args: readonly unknown[]) => caller.callLater(args),
    prepare: (operands: readonly unknown[], attributes?: object) => caller.prepare(operands, attributes),
    signature,
    handler: kernels,
  })
  Object.defineProperty(kernel, 'name', { value: name })
  clearWith(kernel, context.gate, instances)
  return kernel
}

interface CallerParts extends Omit<FoundKernel, 'frames'> {
  readonly context: KernelContext
  readonly instances: Instances
}

const OPTIONS = ['into', 'allocator'] as const
const ASYNC_OPTIONS = [...OPTIONS, 'signal', 'deadline'] as const

/** Reads the arguments of calls, and runs them. */
class Caller {
  readonly #parts: CallerParts
  /** Whether all calls have one tensor for each operand. */
  readonly #isFixed: boolean
  readonly #quick: QuickCall
  /** The frame of the last call, if a call without attributes and lists can use it. */
  #latest: Frame | undefined

  constructor(parts: CallerParts) {
    const { operation, context } = parts
    this.#parts = parts
    this.#isFixed = operation.inputs.every((input) => !isTensorList(input))
    const isSingle = operation.outputs.length === 1 && !isTensorList(operation.outputs[0]!)
    const valueOfAll = (frame: Frame, results: readonly unknown[]): unknown => this.#value(frame, results)
    this.#quick = makeQuickCall(
      context,
      (frame, operands, offers) => finish(this.#quickRun(frame, operands), offers),
      isSingle ? undefined : valueOfAll,
    )
  }

  call(args: readonly unknown[]): unknown {
    return isTraced() ? traceCall(this.#trace(args, false), () => this.#call(args)) : this.#call(args)
  }

  callLater(args: readonly unknown[]): Promise<unknown> {
    return isTraced() ? traceLater(this.#trace(args, true), () => this.#callLater(args)) : this.#callLater(args)
  }

  /** Makes the message of a call. Lists of tensors, string tensors and attributes are objects there. */
  #trace(args: readonly unknown[], isAsync: boolean): CallTrace {
    return newTrace(this.#parts.operation.name, 'tensorflow', typesOf(args), isAsync)
  }

  #call(args: readonly unknown[]): unknown {
    const latest = this.#latest
    if (latest !== undefined) {
      const value = this.#quick(latest, args)
      if (value !== NOT_QUICK) return value
    }
    const { run } = this.#begin(args, false)
    const { name } = this.#parts.operation
    const offers = offer(run)
    const go = (): readonly unknown[] => (enterFrame(run.frame, run.held) ? offers : finish(run, offers))
    const written = (): Written[] => writtenBy(run, offers)
    const results = guardMode ? checkedCall(name, written, go) : go()
    return this.#value(run.frame, results)
  }

  async #callLater(args: readonly unknown[]): Promise<unknown> {
    const { run, options } = this.#begin(args, true)
    checkLimits(options)
    options.signal?.throwIfAborted()
    const results = await runLater(run, offer(run), options)
    return this.#value(run.frame, results)
  }

  prepare(operands: readonly unknown[], attributes: object | undefined): void {
    if (!Array.isArray(operands)) throw wrongType('operands', 'an array of tensors', operands)
    const { operation, signature } = this.#parts
    this.#frameFor(
      readArguments(operation, signature, attributes === undefined ? operands : [...operands, attributes], OPTIONS),
    )
  }

  /** Describes a run that was quick so far. */
  #quickRun(frame: Frame, tensors: readonly Tensor[]): Run {
    const operands = tensors.map((tensor, i) => ({ tensor, key: frame.operands[i]!, isDonated: false }))
    const into = frame.predicted.map(() => undefined)
    return { frame, operands, into, allocator: gcAllocator, held: [] }
  }

  #value({ instance }: Frame, results: readonly unknown[]): unknown {
    return valueOf(this.#parts.operation, instance.facts.resultCounts, results)
  }

  /** Reads and checks the arguments of a call. The frame is that of the call alone until it runs. */
  #begin(args: readonly unknown[], isAsync: boolean): { readonly run: Run; readonly options: RunLimits } {
    const { context, operation } = this.#parts
    const read = readArguments(operation, this.#parts.signature, args, isAsync ? ASYNC_OPTIONS : OPTIONS)
    const { operands, options } = read
    const { allocator = gcAllocator } = options
    if (typeof allocator?.allocate !== 'function') throw wrongType('allocator', 'an allocator', allocator)
    const frame = this.#frameFor(read)
    const { results, resultCounts } = frame.instance.facts
    const into = readInto(operation, resultCounts, results, options.into)
    // After the last argument was read, because reading can run code of the user.
    context.gate.owner.checkOpen()
    operands.forEach((operand, i) =>
      checkOperand(operand, frame.misalignments[i]!, `operand ${i} of ${operation.name}`),
    )
    refuseOverlaps(operands, into, operation.name)
    if (hasKeptMemory()) releaseKeptMemory(openHost())
    // Native code runs at once, or later, when code of the user may have changed the strings.
    const checked = checkStringOperands(operands, { isCopied: isAsync })
    const tensors = [...checked.operands.map(({ tensor }) => tensor), ...into.filter((one) => one !== undefined)]
    const held = [context, ...tensors, ...checked.regions]
    return { run: { frame, operands: checked.operands, into, allocator, held }, options }
  }

  /** Finds or makes the frame of a call. @throws {ArgumentError} if the attributes or operands contradict the definition */
  #frameFor({ operands, types, counts, attributes, snapshot }: Arguments): Frame {
    const { context, operation, kernels, choice, instances } = this.#parts
    context.gate.owner.checkOpen()
    const keys = operands.map(({ key }) => key)
    // The numbers of tensors in lists decide which operand a tensor is of.
    const full = snapshot === undefined ? undefined : this.#isFixed ? snapshot : [...counts, ...snapshot]
    const known = full === undefined ? undefined : instances.findFrame(keys, full)
    if (known !== undefined) return this.#remember(known)
    const values = resolveAttributes(operation, types, attributes)
    const kernel = chooseKernel(operation.name, kernels, values, choice)
    const facts = factsOf(operation, context.path, counts, values)
    const description = encodeDescription(kernel.index, operation, counts, values)
    const tensors = [...values.values()].flat().filter((one) => one instanceof Tensor)
    const frame = instances.makeFrame(facts, description, tensors, keys, full)
    return this.#remember(frame)
  }

  #remember(frame: Frame): Frame {
    this.#latest = this.#isFixed && frame.snapshot?.length === 0 ? frame : undefined
    return frame
  }
}

/** The memory that a run may write, for guard mode. */
function writtenBy({ operands }: Run, offers: readonly (Tensor | undefined)[]): Written[] {
  const all = [...operands.map(({ tensor }) => tensor), ...offers]
  return all.flatMap((tensor, i) =>
    tensor === undefined ? [] : [{ block: tensor.block, address: tensor.address, name: `tensor ${i}` }],
  )
}
