import { ArgumentError, cpu, Tensor, tensorType, type Segment, type TensorType } from '@tenon/core'
import { checkEnterable, CONSTANTS, READ_ONLY } from '@tenon/core/internal'
import { MemoryError, PackedFuncTypeError } from '@tenon/packed-func'
import {
  decodeCallback,
  decodeValue,
  encodeArguments,
  encodeReturned,
  encodeThrown,
  type RemoteValue,
  type TensorReferences,
  type ValueReferences,
} from '@tenon/packed-func/internal'
import type { Answer, KeptPart, WorkerCall, WorkerKernel } from '@tenon/isolate/internal'
import type { IsolatedContext } from './isolated-context.ts'
import type { IsolatedRunOptions } from './isolated-kernel.ts'
import { packedFailure } from './packed-failure.ts'
import { rangeOf, StagedOperands, type OperandPlan } from './staged-operands.ts'

/** A packed function of an isolated library. */
export interface PackedTarget {
  readonly context: IsolatedContext
  readonly kernel: WorkerKernel
  /** The packed functions of the library, for hints. */
  readonly names: readonly string[]
}

/**
 * Makes one call of a packed function in a worker.
 *
 * @param isWritten whether the function may write to a tensor among its arguments.
 * @throws {TenonError} if a value cannot cross.
 */
export function beginPacked(
  { context, kernel, names }: PackedTarget,
  values: readonly unknown[],
  isWritten: (tensor: Tensor) => boolean,
  options: IsolatedRunOptions,
): WorkerCall<RemoteValue> {
  context.gate.owner.checkOpen()
  const operands = new CallOperands(isWritten)
  const functions: ((...values: never[]) => unknown)[] = []
  const references: ValueReferences = {
    operandOf: (tensor) => operands.add(tensor),
    idOf: (run, place) => {
      if (!context.isRelaying) refuseFunction(place)
      return functions.push(run) - 1
    },
  }
  const body = encodeArguments(values, references)
  // Code of the user has run, which may have closed memory.
  for (const { block } of operands.tensors) checkEnterable(block)
  const staged = new StagedOperands(context.memory, operands.plans)
  const raised = new Map<number, unknown>()
  const returned: ValueReferences = { ...references, operandOf: (tensor) => operands.find(tensor) }
  const result = new PackedResult(context, operands)
  return {
    ...options,
    kernel,
    operands: staged.operands,
    body,
    gated: [{ gate: context.gate }, ...operands.tensors],
    copiedBytes: staged.copiedBytes,
    parts: (answer) => result.parts(answer),
    read: (answer) => {
      staged.copyBack()
      return result.read(answer)
    },
    failure: (answer, details) => packedFailure(kernel, names, raised, answer, details),
    callBack: (call) => {
      try {
        return callBack(call, functions, operands, staged, returned)
      } catch (error) {
        raised.set(raised.size, error)
        return encodeThrown(error, raised.size - 1)
      }
    },
    released: () => staged.free(),
  }
}

function refuseFunction(place: string): never {
  throw new PackedFuncTypeError(
    'TypeError',
    `${place} must not be a function, because the library does not relay calls`,
    {
      hint: "Open the library with Library.isolate(path, { callbacks: 'relay' }).",
      details: { path: place },
    },
  )
}

/** The tensors among the values of a call. Each is one operand, however often it occurs. */
class CallOperands {
  readonly tensors: Tensor[] = []
  readonly plans: OperandPlan[] = []
  readonly #isWritten: (tensor: Tensor) => boolean

  constructor(isWritten: (tensor: Tensor) => boolean) {
    this.#isWritten = isWritten
  }

  find(tensor: Tensor): number | undefined {
    const index = this.tensors.indexOf(tensor)
    return index === -1 ? undefined : index
  }

  /** @throws {ArgumentError} if the tensor is on a device. */
  add(tensor: Tensor): number {
    const known = this.find(tensor)
    if (known !== undefined) return known
    const { device, flags } = tensor
    if (device.type !== cpu.type) {
      throw new ArgumentError(`a tensor for another process must be on the CPU, got device type ${device.type}`)
    }
    const isWritten = this.#isWritten(tensor) && (flags & READ_ONLY) === 0
    this.plans.push({ tensor, type: rowMajor(tensor.type), isWritten })
    return this.tensors.push(tensor) - 1
  }
}

/** Returns the type in the worker, where all tensors are row-major. */
function rowMajor(type: TensorType): TensorType {
  const { dtype, shape, strides, packing } = type
  return strides === undefined ? type : tensorType(dtype, shape, { packing })
}

/** The result of a call, which is not read before all of its parts have arrived. */
class PackedResult implements TensorReferences {
  readonly #context: IsolatedContext
  readonly #operands: CallOperands
  readonly #tensors = new Map<number, Tensor>()
  #long: Segment | undefined
  #value: { readonly of: RemoteValue } | undefined

  constructor(context: IsolatedContext, operands: CallOperands) {
    this.#context = context
    this.#operands = operands
  }

  operandAt(index: number): Tensor | undefined {
    return this.#operands.tensors[index]
  }

  partAt(index: number, type: TensorType): Tensor {
    const known = this.#tensors.get(index)
    if (known?.type === type) return known
    const made = new Tensor(this.#context.memory.allocate(type.byteSize), type, cpu)
    this.#tensors.set(index, made)
    return made
  }

  parts(answer: Answer): readonly KeptPart[] {
    if (this.#value !== undefined) return []
    if (answer.isLong && this.#long === undefined) {
      this.#long = this.#context.memory.allocate(longSize(answer))
      return [{ target: rangeOf(this.#long, true), body: partBody(0) }]
    }
    this.#value = { of: decodeValue(this.#bytesOf(answer), this) }
    return Array.from(this.#tensors, ([index, { segment }]) => ({
      target: rangeOf(segment, true),
      body: partBody(index),
    }))
  }

  /** A copy, because the worker can write to the memory as long as it runs. */
  #bytesOf({ body }: Answer): Uint8Array {
    if (this.#long === undefined) return body
    const { block, base, byteSize } = this.#long
    return new Uint8Array(block.bytes.subarray(base, base + byteSize))
  }

  read(answer: Answer): RemoteValue {
    return this.#value === undefined
      ? decodeValue(answer.body, { operandAt: (index) => this.operandAt(index), partAt: () => undefined })
      : this.#value.of
  }
}

function longSize({ body }: Answer): number {
  const size = body.length === 8 ? Number(Buffer.from(body).readBigUInt64LE()) : Number.NaN
  if (Number.isSafeInteger(size)) return size
  throw new MemoryError('a worker answered with a result whose size is not valid')
}

function partBody(index: number): Uint8Array {
  const body = Buffer.alloc(4)
  body.writeUInt32LE(index)
  return body
}

/** Runs a function of this process for a worker. Tensors that were copied are copied back for it, and again for the worker. */
function callBack(
  bytes: Uint8Array,
  functions: readonly ((...values: never[]) => unknown)[],
  operands: CallOperands,
  staged: StagedOperands,
  references: ValueReferences,
): Uint8Array {
  const arrived: TensorReferences = { operandAt: (index) => operands.tensors[index], partAt: () => undefined }
  const { id, values } = decodeCallback(bytes, arrived)
  const run = functions[id]
  if (run === undefined) throw new PackedFuncTypeError('TypeError', `the caller has no function ${id}`)
  staged.copyBack()
  let result: unknown
  try {
    result = run(...(values as never[]))
  } finally {
    staged.copyIn()
  }
  if (result instanceof Promise) {
    result.catch(() => {})
    throw new PackedFuncTypeError(
      'TypeError',
      'asynchronous function used as packed function: it must be done when it returns',
    )
  }
  const encoded = encodeReturned(result, references)
  if (encoded.length <= CONSTANTS.TN_HOST_BODY_SIZE) return encoded
  throw new MemoryError(
    `the result of a function must have at most ${CONSTANTS.TN_HOST_BODY_SIZE} bytes for another process, got ${encoded.length}`,
    { hint: 'Write large results to a tensor among the arguments.' },
  )
}
