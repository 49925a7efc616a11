import { Tensor, TensorType, tensorType, type KernelSignature, type Parameter } from '@tenon/core'
import {
  addressOf,
  Callback,
  checkName,
  checkOptions,
  checkStatus,
  coreFunctions,
  type Gated,
  innermostCall,
  inspectAsText,
  isSignature,
  ManagedLifetime,
  WORDS,
  words,
  wrongType,
} from '@tenon/core/internal'
import { BoundCall } from '../call/bound-call.ts'
import { FIRST_TENSOR } from '../call/taken.ts'
import { addressesOf } from '../native/descriptor.ts'
import { callShape } from '../shape/call-shape.ts'
import type { TargetSignature } from '../schema/define-target.ts'
import { describeFunction, type ExactFunction } from './describe-function.ts'
import { fail, refusePromise } from './function-failure.ts'
import { useLentMemory } from './lent-memory.ts'
import { readingEntry, type SchemaFunction } from './reading-entry.ts'
import { TypedHandler } from './typed-handler.ts'

/** The exact types of a TypeScript function's tensors. */
export interface FunctionSignature {
  readonly operands: readonly TensorType[]
  readonly results: readonly TensorType[]
}

/** A tensor for each type. */
export type TensorsOf<Types extends readonly TensorType[]> = { readonly [Index in keyof Types]: Tensor }

/**
 * A kernel in TypeScript. The function reads the operands and writes the results, whose contents are initially undefined. It
 * borrows both until it returns. An error that the function throws becomes the error of the call. The function must not
 * return a promise.
 */
export type TargetFunction<Signature extends FunctionSignature = FunctionSignature> = (
  operands: TensorsOf<Signature['operands']>,
  results: TensorsOf<Signature['results']>,
) => void

/** The kernel of exact types, of a declared target, or of another signature, whose attributes the function also receives. */
export type FunctionFor<Signature extends FunctionSignature | KernelSignature> = [Signature] extends [
  TargetSignature<infer Definition>,
]
  ? SchemaFunction<Definition>
  : [Signature] extends [KernelSignature]
    ? SchemaFunction
    : [Signature] extends [FunctionSignature]
      ? TargetFunction<Signature>
      : never

/** A TypeScript function that native code can call, as a typed handler for XLA FFI 0.1 with its own address. */
export class FunctionTarget extends ManagedLifetime {
  readonly name: string
  readonly handler: TypedHandler
  readonly #callback: Callback
  readonly #address: number
  /** Memory that the core reads. */
  readonly #description: DataView

  /** @internal */
  constructor(name: string, signature: FunctionSignature | KernelSignature, run: TargetFunction | SchemaFunction) {
    super()
    this.name = checkName(name, 'name')
    if (typeof run !== 'function') throw wrongType(name, 'a function', run)
    const exact = exactCallee(name, signature, run)
    this.#description = describeFunction(exact)
    this.#callback =
      exact === undefined
        ? new Callback(readingEntry(name, signature as KernelSignature, run))
        : new Callback(undefined, exactEntry(exact))
    const out = new BigUint64Array(1)
    const { tn_xla_function_open: open } = coreFunctions()
    const status = open(this.#callback.address, addressOf(this.#description), addressOf(out))
    if (status !== 0) this.#callback.release()
    checkStatus(status, `making ${name} a handler`)
    this.#address = Number(out[0])
    const addresses = addressesOf((stage) => (stage === 'execute' ? this.#address : 0))
    this.handler = new TypedHandler(name, this.gate, addresses, {})
  }

  /**
   * Makes a TypeScript function callable from native code until the target is closed.
   *
   * @param signature the exact types of the tensors, or a declared target, whose attributes the function also receives.
   * @throws {ArgumentError} if the signature is invalid. @throws {NativeError} if the process has no address left.
   * @example
   * using double = FunctionTarget.open('double', { operands: [f32([2])], results: [f32([2])] }, ([from], [to]) => {
   *   to.view().set((from.view() as Float32Array).map((value) => 2 * value))
   * })
   */
  static open<const Signature extends FunctionSignature | KernelSignature>(
    name: string,
    signature: Signature,
    run: FunctionFor<Signature>,
  ): FunctionTarget {
    return new FunctionTarget(name, signature, run as SchemaFunction)
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

/** Returns a function with its types if they are the same in every call. */
function exactCallee(
  name: string,
  signature: FunctionSignature | KernelSignature,
  run: TargetFunction | SchemaFunction,
): Callee | undefined {
  const isDeclared = isSignature(signature)
  const exact = isDeclared ? exactSignature(signature) : checkSignature(name, signature)
  if (exact === undefined) return undefined
  const { types, operandCount } = callShape(name, exact)
  const pointers = new Int32Array(new ArrayBuffer(8 * Math.max(types.length, 1)))
  const runExact: TargetFunction = isDeclared
    ? (operands, results) => run(operands, results, NO_ATTRIBUTES)
    : (run as TargetFunction)
  const addresses = new BigUint64Array(pointers.buffer)
  return { name, types, operandCount, pointers, addresses, run: runExact }
}

/** Returns the types of tensors, if every call of a kernel has the same types and no attributes. */
function exactSignature({ operands, results, temps, attributes }: KernelSignature): FunctionSignature | undefined {
  if (attributes.length > 0 || temps.length > 0) return undefined
  const [operandTypes, resultTypes] = [exactTypes(operands), exactTypes(results)]
  return operandTypes && resultTypes && { operands: operandTypes, results: resultTypes }
}

function exactTypes(parameters: readonly Parameter[]): TensorType[] | undefined {
  const types = parameters.flatMap(({ kind, isToken, dtypes, shape }) => {
    const isExact =
      kind === 'one' && !isToken && dtypes.length === 1 && shape?.every((size) => typeof size === 'number')
    return isExact ? [tensorType(dtypes[0]!, shape as readonly number[])] : []
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
    returned = callee.run(caller.operands, caller.results)
  } else {
    if (!areCallersTensors(callee, frame)) return false
    const firstResult = FIRST_TENSOR + callee.operandCount
    returned = callee.run(frame.slice(FIRST_TENSOR, firstResult) as Tensor[], frame.slice(firstResult) as Tensor[])
  }
  if (returned !== undefined) refusePromise(callee.name, returned)
  return true
}

function runOnLentMemory({ name, types, operandCount, addresses, run }: Callee): void {
  const buffers = types.map((type, i) => ({ type, pointer: addresses[i]! }))
  useLentMemory(name, buffers, operandCount, (tensors) =>
    refusePromise(name, run(tensors.slice(0, operandCount), tensors.slice(operandCount))),
  )
}

function checkSignature(name: string, signature: FunctionSignature): FunctionSignature {
  const { operands, results } = checkOptions(signature, ['operands', 'results'], `the signature of ${name}`)
  for (const [what, list] of Object.entries({ operands, results })) {
    if (!Array.isArray(list) || !list.every((type) => type instanceof TensorType)) {
      const hint = 'Write { operands: [f32([4])], results: [f32([4])] }.'
      throw wrongType(`the ${what} of ${name}`, 'an array of types', list, hint)
    }
  }
  return signature
}
