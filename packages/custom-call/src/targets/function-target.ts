import { Tensor, tensorType, type KernelSignature, type Parameter, type TensorType } from '@tenon/core'
import {
  addressOf,
  Callback,
  checkName,
  checkStatus,
  coreFunctions,
  type Gated,
  innermostCall,
  inspectAsText,
  ManagedLifetime,
  nameStub,
  readSignature,
  WORDS,
  words,
  wrongType,
} from '@tenon/core/internal'
import { BoundCall } from '../call/bound-call.ts'
import { FIRST_TENSOR } from '../call/operand-list.ts'
import { addressesOf } from '../native/descriptor.ts'
import { callShape } from '../shape/call-shape.ts'
import { describeFunction, type ExactFunction } from './describe-function.ts'
import { fail, refusePromise } from './function-failure.ts'
import { useLentMemory } from './lent-memory.ts'
import { readingEntry, type TargetFunction } from './reading-entry.ts'
import { TypedHandler } from './typed-handler.ts'

/** A TypeScript function that native code can call, as a typed handler for XLA FFI 0.1 with its own address. */
export class FunctionTarget extends ManagedLifetime {
  readonly name: string
  readonly handler: TypedHandler
  readonly #callback: Callback
  readonly #address: number
  /** Memory that the core reads. */
  readonly #description: DataView

  /** @internal */
  constructor(name: string, given: string | KernelSignature, run: TargetFunction) {
    super()
    this.name = checkName(name, 'name')
    if (typeof run !== 'function') throw wrongType(name, 'a function', run)
    const signature = readSignature(name, given, "Write '(x: f32[4]) -> (y: f32[4])'.")
    const exact = exactCallee(name, signature, run)
    this.#description = describeFunction(exact)
    this.#callback =
      exact === undefined
        ? new Callback(readingEntry(name, signature, run))
        : new Callback(undefined, exactEntry(exact))
    const out = new BigUint64Array(1)
    const { tn_xla_function_open: open } = coreFunctions()
    const status = open(this.#callback.address, addressOf(this.#description), addressOf(out))
    if (status !== 0) this.#callback.release()
    checkStatus(status, `making ${name} a handler`)
    this.#address = Number(out[0])
    nameStub(this.#address, this)
    const addresses = addressesOf((stage) => (stage === 'execute' ? this.#address : 0))
    this.handler = new TypedHandler(name, this.gate, addresses, {})
  }

  /**
   * Makes a TypeScript function callable from native code until the target is closed.
   *
   * @param signature the text of a signature, or one that `parseSignature()` has read. Calls are fastest if every call has the same
   * types and no attributes.
   * @throws {SignatureError} if the text is invalid. @throws {NativeError} if the process has no address left.
   * @example
   * using double = FunctionTarget.open('double', '(x: f32[2]) -> (y: f32[2])', ([from], [to]) => {
   *   to.view().set((from.view() as Float32Array).map((value) => 2 * value))
   * })
   */
  static open<const Text extends string>(
    name: string,
    signature: Text | KernelSignature,
    run: TargetFunction<Text>,
  ): FunctionTarget {
    return new FunctionTarget(name, signature, run as TargetFunction)
  }

  /** The address of the handler, for native code that calls it directly. The address is valid until the target is closed. */
  get address(): bigint {
    return BigInt(this.#address)
  }

  protected override get label(): string {
    return `the function ${this.name}`
  }

  protected override release(): void {
    checkStatus(coreFunctions().tn_xla_function_close(this.#address), `closing ${this.name}`)
    this.#callback.release()
  }

  override toString(): string {
    return `FunctionTarget ${this.name}${this.isAlive ? '' : ' (closed)'}`
  }
}
inspectAsText(FunctionTarget)

interface Callee extends ExactFunction {
  readonly name: string
  /** The addresses in `pointers`. */
  readonly addresses: BigUint64Array
  readonly run: TargetFunction
}

const NO_ATTRIBUTES = Object.freeze({})

/** Returns a function with its types, if every call has the same types and no attributes. */
function exactCallee(
  name: string,
  { operands, results, temps, attributes }: KernelSignature,
  run: TargetFunction,
): Callee | undefined {
  if (attributes.length > 0 || temps.length > 0) return undefined
  const [operandTypes, resultTypes] = [exactTypes(operands), exactTypes(results)]
  if (operandTypes === undefined || resultTypes === undefined) return undefined
  const { types, operandCount } = callShape(name, { operands: operandTypes, results: resultTypes })
  const pointers = new Int32Array(new ArrayBuffer(8 * Math.max(types.length, 1)))
  return { name, types, operandCount, pointers, addresses: new BigUint64Array(pointers.buffer), run }
}

function exactTypes(parameters: readonly Parameter[]): TensorType[] | undefined {
  const types = parameters.flatMap(({ kind, isToken, dtypes, shape, layout, stringLayout }) => {
    const isPlain = !isToken && layout === undefined && stringLayout === undefined
    const isExact = kind === 'one' && isPlain && dtypes.length === 1
    if (!isExact || !shape?.every((size) => typeof size === 'number')) return []
    return [tensorType(dtypes[0]!, shape, { packing: 'element' })]
  })
  return types.length === parameters.length ? types : undefined
}

/** Reads the call from the frame. Its own constants are part of the compiled code. */
function exactEntry(callee: Callee): () => void {
  const frame = words
  const CALL = WORDS.general + 2
  return () => {
    // Nested calls overwrite the frame.
    const low = frame[CALL]!
    const high = frame[CALL + 1]!
    try {
      if (!runOnCallersTensors(callee)) runOnLentMemory(callee)
    } catch (error) {
      fail((low >>> 0) + high * 2 ** 32, error)
    }
  }
}

/** Whether the tensors of the run in progress are those of the call, so that nothing has to be mapped. */
function areCallersTensors({ types, pointers }: Callee, held: readonly Gated[]): boolean {
  if (held.length !== FIRST_TENSOR + types.length) return false
  for (let i = 0; i < types.length; i++) {
    const tensor = held[FIRST_TENSOR + i]
    if (!(tensor instanceof Tensor) || tensor.type !== types[i]) return false
    if (tensor.lo !== pointers[2 * i] || tensor.hi !== pointers[2 * i + 1]) return false
  }
  return true
}

/** Runs on the tensors of the run in progress. @returns false if the call does not come from one, or has other memory. */
function runOnCallersTensors(callee: Callee): boolean {
  const frame = innermostCall()
  if (frame === undefined) return false
  const caller = frame[0]
  let returned: unknown
  if (caller instanceof BoundCall) {
    if (!areCallersTensors(callee, caller.bound)) return false
    returned = callee.run(caller.operands, caller.results, NO_ATTRIBUTES)
  } else {
    if (!areCallersTensors(callee, frame)) return false
    const firstResult = FIRST_TENSOR + callee.operandCount
    const operands = frame.slice(FIRST_TENSOR, firstResult) as Tensor[]
    returned = callee.run(operands, frame.slice(firstResult) as Tensor[], NO_ATTRIBUTES)
  }
  if (returned !== undefined) refusePromise(callee.name, returned)
  return true
}

function runOnLentMemory({ name, types, operandCount, addresses, run }: Callee): void {
  const buffers = types.map((type, i) => ({ type, pointer: addresses[i]! }))
  useLentMemory(name, buffers, operandCount, (tensors) =>
    refusePromise(name, run(tensors.slice(0, operandCount), tensors.slice(operandCount), NO_ATTRIBUTES)),
  )
}
