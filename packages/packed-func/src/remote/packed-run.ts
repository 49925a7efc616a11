import { ArgumentError, cpu, Tensor, tensorType, type TensorType } from '@tenon/core'
import {
  AnswerReader,
  checkEnterable,
  CONSTANTS,
  didYouMean,
  READ_ONLY,
  STATUS,
  typesOf,
  type IsolatedRunOptions,
  type RemoteCall,
  type RemoteHost,
  type RemoteKernel,
  type RemoteOperand,
} from '@tenon/core/internal'
import { refuseReadOnly } from '../tensors/pack-tensor.ts'
import { AttributeError, MemoryError, PackedFuncTypeError } from '../errors/error-kinds.ts'
import { decodeCallback, decodeValue, type RemoteValue, type TensorReferences } from './decode-values.ts'
import { encodeArguments, encodeReturned, encodeThrown, type ValueReferences } from './encode-values.ts'
import { decodeError } from './remote-error.ts'

/** A packed function of a library in another process. */
export interface PackedTarget {
  readonly host: RemoteHost
  readonly kernel: RemoteKernel
  /** The packed functions of the library, for hints. */
  readonly names: readonly string[]
}

/** Describes a packed function of a library. @throws {AttributeError} for a name that the library does not have. */
export function packedTarget(
  host: RemoteHost,
  name: string,
  names: readonly string[],
  isLegacy: boolean,
): PackedTarget {
  if (!names.includes(name)) throw missingFunction(name, names)
  const kernel: RemoteKernel = {
    name,
    library: host.path,
    file: host.file,
    convention: isLegacy ? CONSTANTS.TN_HOST_LEGACY : CONSTANTS.TN_HOST_PACKED,
    symbols: ['', '', '', name],
    operands: 0,
    results: 0,
    descriptor: new Uint8Array(),
  }
  return { host, kernel, names }
}

/** The error of `Module.get` for a name that a library does not have. */
function missingFunction(name: string, names: readonly string[]): AttributeError {
  return new AttributeError(`Module has no function '${name}'`, { hint: didYouMean(name, names) })
}

/**
 * Makes one call of a packed function in another process.
 *
 * @param isWritten whether the function may write to a tensor among its arguments.
 * @throws {TenonError} if a value cannot cross.
 */
export function beginPacked(
  { host, kernel, names }: PackedTarget,
  values: readonly unknown[],
  isWritten: (tensor: Tensor) => boolean,
  options: IsolatedRunOptions,
): RemoteCall<RemoteValue> {
  host.gate.owner.checkOpen()
  const operands = new CallOperands(isWritten)
  const functions: ((...values: never[]) => unknown)[] = []
  const references: ValueReferences = {
    operandOf: (tensor, isOnlyRead) => operands.add(tensor, isOnlyRead),
    idOf: (run, place) => {
      if (!host.isRelaying) refuseFunction(place)
      return functions.push(run) - 1
    },
  }
  const body = encodeArguments(values, references)
  // Code of the user has run, which may have closed memory.
  for (const { block } of operands.tensors) checkEnterable(block)
  const raised = new Map<number, unknown>()
  const returned: ValueReferences = { ...references, operandOf: (tensor) => operands.find(tensor) }
  const result = resultReader(host, operands)
  return {
    kernel,
    operands: operands.list,
    body,
    types: () => typesOf(values),
    options,
    parts: (answer) => result.parts(answer),
    read: (answer) => result.read(answer),
    failure: ({ error, status, body: message }) => {
      if (error === CONSTANTS.TN_HOST_PACKED_ERROR) return decodeError(message, raised) as Error
      return status === STATUS.NOT_FOUND.value ? missingFunction(kernel.name, names) : undefined
    },
    callBack: (call) => {
      try {
        return callBack(call, functions, operands, returned)
      } catch (error) {
        raised.set(raised.size, error)
        return encodeThrown(error, raised.size - 1)
      }
    },
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
  readonly list: RemoteOperand[] = []
  readonly #isWritten: (tensor: Tensor) => boolean

  constructor(isWritten: (tensor: Tensor) => boolean) {
    this.#isWritten = isWritten
  }

  find(tensor: Tensor): number | undefined {
    const index = this.tensors.indexOf(tensor)
    return index === -1 ? undefined : index
  }

  /** @throws {ArgumentError} if the tensor is on a device. @throws {ReadOnlyError} if it is read-only, and the function may write it. */
  add(tensor: Tensor, isOnlyRead: boolean): number {
    const { device, flags } = tensor
    if ((flags & READ_ONLY) !== 0 && !isOnlyRead) refuseReadOnly()
    const known = this.find(tensor)
    if (known !== undefined) return known
    if (device.type !== cpu.type) {
      throw new ArgumentError(`a tensor for another process must be on the CPU, got device type ${device.type}`)
    }
    const isWritten = this.#isWritten(tensor) && (flags & READ_ONLY) === 0
    this.list.push({ tensor, type: rowMajor(tensor.type), isWritten })
    return this.tensors.push(tensor) - 1
  }
}

/** Returns the type in the worker, where all tensors are row-major. */
function rowMajor(type: TensorType): TensorType {
  const { dtype, shape, strides, packing } = type
  return strides === undefined ? type : tensorType(dtype, shape, { packing })
}

/** Returns the reader of the result, whose tensors are parts of the kept value. */
function resultReader({ allocator }: RemoteHost, operands: CallOperands): AnswerReader<RemoteValue> {
  return new AnswerReader(allocator, {
    decode: (bytes, hasParts) => {
      const tensors = new Map<number, Tensor>()
      const partAt = (index: number, type: TensorType): Tensor => {
        const known = tensors.get(index)
        if (known?.type === type) return known
        const made = new Tensor(allocator.allocate(type.byteSize), type, cpu)
        tensors.set(index, made)
        return made
      }
      const operandAt = (index: number): Tensor | undefined => operands.tensors[index]
      const value = decodeValue(bytes, { operandAt, partAt: hasParts ? partAt : () => undefined })
      return { value, parts: Array.from(tensors, ([index, { segment }]) => ({ target: segment, index })) }
    },
    malformed: (what) => new MemoryError(`a worker answered with ${what}, which is not valid`),
  })
}

/** Runs a function of this process for another one. */
function callBack(
  bytes: Uint8Array,
  functions: readonly ((...values: never[]) => unknown)[],
  operands: CallOperands,
  references: ValueReferences,
): Uint8Array {
  const arrived: TensorReferences = { operandAt: (index) => operands.tensors[index], partAt: () => undefined }
  const { id, values } = decodeCallback(bytes, arrived)
  const run = functions[id]
  if (run === undefined) throw new PackedFuncTypeError('TypeError', `the caller has no function ${id}`)
  const result: unknown = run(...(values as never[]))
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
