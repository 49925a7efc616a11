import { ArgumentError, Tensor, TensorType } from '@tenon/core'
import {
  addressOf,
  Callback,
  checkName,
  checkStatus,
  coreFunctions,
  describe,
  type Gated,
  innermostCall,
  ManagedLifetime,
} from '@tenon/core/internal'
import { BoundCall } from '../call/bound-call.ts'
import { FIRST_TENSOR } from '../call/patch-pointers.ts'
import { callShape } from '../shape/call-shape.ts'
import { TargetSchema } from '../schema/target-schema.ts'
import { describeFunction, describeReadingFunction } from './describe-function.ts'
import { endAnyway, fail, refusePromise } from './function-failure.ts'
import { LentMemory } from './lent-memory.ts'
import { readingEntryOf, type SchemaFunction } from './reading-entry.ts'
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

/** A TypeScript function that native code can call: a typed handler of XLA FFI 0.1 with an address of its own. */
export class FunctionTarget extends ManagedLifetime {
  readonly name: string
  readonly handler: TypedHandler
  readonly #callback: Callback
  readonly #address: number
  /** Keeps what the core reads. */
  readonly #description: DataView

  /**
   * @param signature the exact types of its tensors; or a declared target, whose attributes it gets as well.
   * @throws {ArgumentError} if the signature is none. @throws {NativeError} if all places for functions are taken.
   */
  constructor(name: string, signature: FunctionSignature, run: TargetFunction)
  constructor(name: string, schema: TargetSchema, run: SchemaFunction)
  constructor(name: string, signature: FunctionSignature | TargetSchema, run: TargetFunction | SchemaFunction) {
    super()
    this.name = checkName(name, 'name')
    if (typeof run !== 'function') throw new ArgumentError(`${name} must be a function, got ${describe(run)}`)
    const { entry, description } = makeEntry(name, signature, run)
    this.#description = description
    this.#callback = new Callback(entry)
    const out = new BigUint64Array(1)
    const { tn_xla_function_open: open } = coreFunctions()
    const status = open(this.#callback.address, addressOf(this.#description), addressOf(out))
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
    checkStatus(coreFunctions().tn_xla_function_close(this.#address), `ending ${this.name}`)
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

/** What native code calls, and what the core is told of it. */
interface Entry {
  readonly entry: (argumentsAddress: number, call: number) => void
  readonly description: DataView
}

const NO_ATTRIBUTES = Object.freeze({})

function makeEntry(
  name: string,
  signature: FunctionSignature | TargetSchema,
  run: TargetFunction | SchemaFunction,
): Entry {
  if (!(signature instanceof TargetSchema)) return exactEntryOf(name, signature, run as TargetFunction)
  const { exact } = signature
  if (exact !== undefined)
    return exactEntryOf(name, exact, (operands, results) => run(operands, results, NO_ATTRIBUTES))
  return { entry: readingEntryOf(name, signature, run), description: describeReadingFunction() }
}

function exactEntryOf(name: string, signature: FunctionSignature, run: TargetFunction): Entry {
  const { types, operandCount } = checkSignature(name, signature)
  const pointers = new DataView(new ArrayBuffer(8 * Math.max(types.length, 1)))
  return {
    entry: entryOf({ name, types, operandCount, run, pointers }),
    description: describeFunction(types, operandCount, addressOf(pointers)),
  }
}

/** What native code calls. Nothing may leave it: what is thrown is told to the caller. */
function entryOf(callee: Callee): (argumentsAddress: number, call: number) => void {
  return (_, call) => {
    try {
      if (!runGiven(callee)) runLent(callee)
    } catch (error) {
      fail(call, error)
    }
  }
}

/** Whether these are the tensors of the call: then nothing has to be mapped. `held` has others before its tensors. */
function areGiven({ types, pointers }: Callee, held: readonly Gated[]): boolean {
  if (held.length !== FIRST_TENSOR + types.length) return false
  for (let i = 0; i < types.length; i++) {
    const tensor = held[FIRST_TENSOR + i]
    if (!(tensor instanceof Tensor) || tensor.type !== types[i]) return false
    if (tensor.pointer !== pointers.getFloat64(8 * i, true)) return false
  }
  return true
}

/** Runs on the tensors of the run that calls; false if the call is not from one, or has other memory. */
function runGiven(callee: Callee): boolean {
  const frame = innermostCall()
  if (frame === undefined) return false
  const caller = frame[0]
  let returned: unknown
  if (caller instanceof BoundCall) {
    if (!areGiven(callee, caller.bound)) return false
    returned = callee.run(caller.operands, caller.results)
  } else {
    if (!areGiven(callee, frame)) return false
    const firstResult = FIRST_TENSOR + callee.operandCount
    returned = callee.run(frame.slice(FIRST_TENSOR, firstResult) as Tensor[], frame.slice(firstResult) as Tensor[])
  }
  if (returned !== undefined) refusePromise(callee.name, returned)
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
    if (returned !== undefined) refusePromise(name, returned)
  } catch (error) {
    endAnyway(lent)
    throw error
  }
  lent.close()
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
