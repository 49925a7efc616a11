import { ArgumentError, ReadOnlyError, tensor, TensorType, type KernelSignature, type Tensor } from '@tenon/core'
import { checkOptions, READ_ONLY, type Gate, type Gated } from '@tenon/core/internal'
import { Temp, type Kernel } from '@tenon/custom-call'
import { FIRST_TENSOR, makeKernel, type FrameCall, type KernelCallShape } from '@tenon/custom-call/internal'
import type { Argument, PackedFunc } from '@tenon/packed-func'
import { checkPackedAttributes, packedAttribute } from './packed-attribute.ts'

/** A call of a packed function, whose attributes and temporaries are ready. */
interface PackedCall extends FrameCall {
  /** Returns the arguments for tensors, operands before results. */
  order(tensors: readonly Tensor[]): Argument[]
}

/** A packed function with the facts that its kernel needs. */
export interface PackedTarget {
  readonly signature: KernelSignature
  readonly packed: PackedFunc
  /** The gate of the library. */
  readonly gate: Gate
  /** The number of calls whose inferred types are kept. */
  readonly frames: number
}

/**
 * Makes a kernel of a packed function. The signature determines the arguments: operands, results, temporaries and attributes in
 * this order, or in that of the `packed` clause. Without a signature that names the results, the kernel passes its values on.
 *
 * @throws {ArgumentError} if packed functions cannot have an attribute of the signature.
 */
export function packedKernel({ signature, packed, gate, frames }: PackedTarget): Kernel<unknown, PackedFunc> {
  const { source } = signature
  if (source === 'none' || source === 'tvm-ffi') return positionalKernel(signature, packed, gate)
  checkPackedAttributes(signature)
  return makeKernel<PackedCall, PackedFunc, unknown>(signature, packed, {
    frames: { limit: frames, gate },
    refusePrepare: () => refusePrepare(signature),
    prepare: (shape) => prepareCall(signature, shape),
    run: (call, taken) => {
      gate.enter()
      try {
        packed(...call.order(taken.slice(FIRST_TENSOR) as readonly Gated[] as Tensor[]))
      } finally {
        gate.exit()
        call.memory.running = false
      }
    },
    runAsync: async (call, operands, results, { signal }) => {
      const args = call.order([...operands, ...results])
      gate.enter()
      try {
        await (signal === undefined ? packed : packed.with({ signal })).async(...args)
      } finally {
        gate.exit()
      }
    },
  })
}

function prepareCall(
  signature: KernelSignature,
  { operands, results, values, aliases, names, resources, stream, alignment, layouts }: KernelCallShape,
): PackedCall {
  const { name } = signature
  checkOptions(resources, [], `the resources of ${name}`)
  for (const [option, value] of Object.entries({ stream, alignment, layouts })) {
    if (value !== undefined)
      throw new ArgumentError(`${option} must not be given to ${name}, which is a packed function`)
  }
  const temps = results.flatMap((one) => (one instanceof Temp ? [tensor(one.type.dtype, one.type.shape)] : []))
  const parts = argumentParts(signature, names, values, temps)
  const operandCount = operands.filter((one) => one instanceof TensorType).length
  return {
    memory: { running: false },
    shape: { types: [...operands, ...results].filter((one) => one instanceof TensorType) },
    isAlive: true,
    close: () => {},
    order: (tensors) => {
      checkResults(name, names, operandCount, aliases, tensors)
      return parts.map((part) => (typeof part === 'number' ? tensors[part]! : part.value))
    },
  }
}

/** Packed functions are not told which of their arguments they write. @throws {ReadOnlyError | ArgumentError} */
function checkResults(
  kernel: string,
  names: readonly string[],
  operandCount: number,
  aliases: KernelCallShape['aliases'],
  tensors: readonly Tensor[],
): void {
  for (let i = operandCount; i < tensors.length; i++) {
    if ((tensors[i]!.flags & READ_ONLY) === 0) continue
    throw new ReadOnlyError(`${names[i]} of ${kernel} must be writable, got read-only memory`)
  }
  for (const { operand, result } of aliases) {
    if (tensors[operand]!.address === tensors[operandCount + result]!.address) continue
    throw new ArgumentError(
      `${names[operandCount + result]} of ${kernel} must be in the memory of ${names[operand]}, got other memory`,
      {
        hint: `Pass ${names[operand]} itself, or let the call pass it.`,
      },
    )
  }
}

/** An argument: the index of a tensor, or a value. */
type Part = number | { readonly value: Argument }

function argumentParts(
  { operands, results, temps, attributes, packedOrder }: KernelSignature,
  tensorNames: readonly string[],
  values: Readonly<Record<string, unknown>>,
  scratch: readonly Tensor[],
): readonly Part[] {
  const places = new Map<string, readonly Part[]>()
  for (const { name, kind, isToken } of [...operands, ...results]) {
    if (isToken) continue
    const own = tensorNames.flatMap((one, i) =>
      one === name || (kind === 'remaining' && one.startsWith(`${name}[`)) ? [i] : [],
    )
    places.set(name, own.length === 0 && kind === 'optional' ? [{ value: null }] : own)
  }
  temps.forEach(({ name }, i) => places.set(name, [{ value: scratch[i]! }]))
  for (const { name, type } of attributes) places.set(name, [{ value: packedAttribute(type, values[name]) }])
  return (packedOrder ?? [...places.keys()]).flatMap((name) => places.get(name)!)
}

function refusePrepare({ name }: KernelSignature): never {
  throw new ArgumentError(
    `${name} must be called without prepare(), because packed functions do not have prepared calls`,
    {
      hint: 'Call the kernel itself, which keeps what it has prepared for calls with the same types and attributes.',
      details: { path: name },
    },
  )
}

/** A packed function that takes any values. */
function positionalKernel(signature: KernelSignature, packed: PackedFunc, gate: Gate): Kernel<unknown, PackedFunc> {
  const call = (...values: Argument[]): unknown => {
    gate.enter()
    try {
      return packed(...values)
    } finally {
      gate.exit()
    }
  }
  const async = async (...values: Argument[]): Promise<unknown> => {
    gate.enter()
    try {
      return await packed.async(...values)
    } finally {
      gate.exit()
    }
  }
  const prepare = (): never => refusePrepare(signature)
  const members = { async, prepare, signature, handler: packed, name: signature.name }
  for (const [key, value] of Object.entries(members)) Object.defineProperty(call, key, { value })
  return call as unknown as Kernel<unknown, PackedFunc>
}
