import { ArgumentError, dtypeInfo, Tensor, TensorType } from '@tenon/core'
import {
  addressOf,
  Callback,
  callStack,
  checkName,
  checkStatus,
  describe,
  ManagedLifetime,
  pointerBits,
  type Gated,
} from '@tenon/core/internal'
import { BoundCall } from '../call/bound-call.ts'
import { FIRST_TENSOR } from '../call/patch-pointers.ts'
import { XlaError } from '../errors/xla-error.ts'
import { UnimplementedError } from '../errors/xla-error-classes.ts'
import { coreFunctions } from '../native/core-functions.ts'
import { callShape } from '../shape/call-shape.ts'
import { LentMemory } from './lent-memory.ts'
import { keepThrown } from './thrown.ts'
import { TypedHandler } from './typed-handler.ts'

/** What a TypeScript function takes: tensors of exactly these types. */
export interface FunctionSignature<
  Operands extends readonly TensorType[] = readonly TensorType[],
  Results extends readonly TensorType[] = readonly TensorType[],
> {
  readonly operands: Operands
  readonly results: Results
}

/** A tensor for each type. */
export type TensorsOf<Types extends readonly TensorType[]> = { readonly [Index in keyof Types]: Tensor }

/**
 * A kernel in TypeScript: reads the operands and writes the results, whose contents are undefined at first. All are
 * borrowed until it returns. What it throws becomes an error of the call; it must not return a promise.
 */
export type TargetFunction<
  Operands extends readonly TensorType[] = readonly TensorType[],
  Results extends readonly TensorType[] = readonly TensorType[],
> = (operands: TensorsOf<Operands>, results: TensorsOf<Results>) => void

const UNKNOWN = 2
/** `tn_xla_function_buffer_t` and `tn_xla_function_t`, in bytes. */
const BUFFER_SIZE = 24
const FUNCTION_SIZE = 32

/** A TypeScript function that native code can call: a typed handler of XLA FFI 0.1 with an address of its own. */
export class FunctionTarget extends ManagedLifetime {
  readonly name: string
  readonly handler: TypedHandler
  readonly #callback: Callback
  readonly #address: number
  /** Keeps what the core reads. */
  readonly #description: DataView

  /** @throws {ArgumentError} if the signature is none. @throws {NativeError} if all places for functions are taken. */
  constructor(name: string, signature: FunctionSignature, run: TargetFunction) {
    super()
    this.name = checkName(name, 'name')
    if (typeof run !== 'function') throw new ArgumentError(`${name} must be a function, got ${describe(run)}`)
    const { types, operandCount } = checkSignature(name, signature)
    const pointers = new DataView(new ArrayBuffer(8 * Math.max(types.length, 1)))
    this.#description = describeFunction(types, operandCount, addressOf(pointers))
    this.#callback = new Callback(entryOf({ name, types, operandCount, run, pointers }))
    const out = new BigUint64Array(1)
    const status = Number(
      coreFunctions().functionOpen(this.#callback.address, addressOf(this.#description), addressOf(out)),
    )
    if (status !== 0) this.#callback.release()
    checkStatus(status, `making ${name} a handler`)
    this.#address = Number(out[0])
    const addresses = { instantiate: 0, prepare: 0, initialize: 0, execute: this.#address }
    this.handler = new TypedHandler(name, this.gate, addresses, {})
  }

  /** The address of the handler, for native code that calls it itself; valid until this is closed. */
  get address(): bigint {
    return BigInt(this.#address)
  }

  protected override get label(): string {
    return `the function ${this.name}`
  }

  protected override release(): void {
    checkStatus(Number(coreFunctions().functionClose(this.#address)), `ending ${this.name}`)
    this.#callback.release()
  }
}

/** What a call by native code needs of its target. */
interface Callee {
  readonly name: string
  readonly types: readonly TensorType[]
  readonly operandCount: number
  readonly run: TargetFunction
  /** Where native code leaves the pointers of a call, until the next one. */
  readonly pointers: DataView
}

/** What native code calls. Nothing may leave it: what is thrown is told to the caller. */
function entryOf(callee: Callee): (argumentsAddress: number, call: number) => void {
  const { run } = callee
  return (_, call) => {
    const [operands, results]: [Tensor[], Tensor[]] = [[], []]
    try {
      if (!isGiven(callee, operands, results)) {
        runLent(callee)
        return
      }
      const returned: unknown = run(operands, results)
      if (returned !== undefined) refusePromise(callee, returned)
    } catch (error) {
      fail(call, error)
    }
  }
}

/** Whether the pointers are those of the run that calls: then its own tensors are taken, and nothing has to be mapped. */
function isGiven({ types, operandCount, pointers }: Callee, operands: Tensor[], results: Tensor[]): boolean {
  const { frames, depth } = callStack
  const frame = depth === 0 ? undefined : frames[depth - 1]!
  const held: readonly Gated[] | undefined = frame?.[0] instanceof BoundCall ? frame[0].bound : frame
  if (held === undefined || held.length !== FIRST_TENSOR + types.length) return false
  for (let i = 0; i < types.length; i++) {
    const tensor = held[FIRST_TENSOR + i]
    if (!(tensor instanceof Tensor) || tensor.type !== types[i]) return false
    if (tensor.pointer !== pointers.getFloat64(8 * i, true)) return false
    if (i < operandCount) operands.push(tensor)
    else results.push(tensor)
  }
  return true
}

/** Runs on memory that native code lends: it is mapped now, and ends with the call. */
function runLent(callee: Callee): void {
  const { name, types, operandCount, pointers, run } = callee
  const lent = new LentMemory(name)
  try {
    const addresses = types.map((_, i) => pointers.getBigUint64(8 * i, true))
    const tensors = types.map((type, i) => lent.tensor(addresses[i]!, type, i < operandCount))
    const returned: unknown = run(tensors.slice(0, operandCount), tensors.slice(operandCount))
    if (returned !== undefined) refusePromise(callee, returned)
  } catch (error) {
    endAnyway(lent)
    throw error
  }
  lent.close()
}

function refusePromise({ name }: Callee, returned: unknown): void {
  if (!isThenable(returned)) return
  returned.then(undefined, () => {})
  throw new UnimplementedError({
    xlaCode: 12,
    text: `the TypeScript function ${name} returned a promise: it must be done when it returns`,
    target: name,
    stage: 'execute',
    refused: true,
  })
}

function checkSignature(
  name: string,
  signature: FunctionSignature | undefined | null,
): { types: readonly TensorType[]; operandCount: number } {
  const { operands, results } = signature ?? {}
  for (const [what, list] of Object.entries({ operands, results })) {
    if (!Array.isArray(list) || !list.every((type) => type instanceof TensorType)) {
      throw new ArgumentError(`the ${what} of ${name} must be an array of types, got ${describe(list)}`, {
        hint: 'write { operands: [f32([4])], results: [f32([4])] }.',
      })
    }
  }
  return callShape(name, { operands: operands!, results: results! })
}

/** The `tn_xla_function_t`, the buffers behind it, and their dimensions behind those. */
function describeFunction(types: readonly TensorType[], operandCount: number, pointersAddress: number): DataView {
  const dimsAt = FUNCTION_SIZE + BUFFER_SIZE * types.length
  const view = new DataView(new ArrayBuffer(dimsAt + 8 * types.reduce((sum, { shape }) => sum + shape.length, 0)))
  const base = addressOf(view)
  view.setUint32(0, operandCount, true)
  view.setUint32(8, types.length - operandCount, true)
  view.setFloat64(16, pointerBits(base + FUNCTION_SIZE), true)
  view.setFloat64(24, pointerBits(pointersAddress), true)
  let dims = dimsAt
  types.forEach(({ dtype, shape }, i) => {
    const at = FUNCTION_SIZE + BUFFER_SIZE * i
    view.setInt32(at, dtypeInfo(dtype).xla, true)
    view.setUint32(at + 8, shape.length, true)
    view.setFloat64(at + 16, pointerBits(base + dims), true)
    for (const size of shape) {
      view.setBigInt64(dims, BigInt(size), true)
      dims += 8
    }
  })
  return view
}

/** Tells native code what was thrown: the code of an {@link XlaError}, otherwise UNKNOWN. */
function fail(call: number, error: unknown): void {
  const isXla = error instanceof XlaError && error.xlaCode !== 0
  const words = isXla ? String(error.details['text']) : error instanceof Error ? error.message : describe(error)
  const text = words.replaceAll('\0', '\u{fffd}')
  const bytes = Buffer.from(`${text}\0`)
  coreFunctions().functionFail(call, isXla ? error.xlaCode : UNKNOWN, addressOf(bytes))
  keepThrown(bytes.toString('utf8', 0, bytes.length - 1), error)
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as PromiseLike<unknown>).then === 'function'
}

/** Ends lent memory after a failure, which has been told already. */
function endAnyway(lent: LentMemory): void {
  try {
    lent.close()
  } catch {
    // Something the function started still holds it, or a close action threw: the call has failed already.
  }
}
