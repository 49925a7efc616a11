import { ArgumentError, ReadOnlyError, tensor, TensorType, type KernelSignature, type Tensor } from '@tenon/core'
import { checkOptions, READ_ONLY, refuseOverlaps, type Gated } from '@tenon/core/internal'
import { Temp } from '@tenon/custom-call'
import { FIRST_TENSOR, memoryOf, type FrameCall, type KernelCallShape } from '@tenon/custom-call/internal'
import { readOnly, type Argument } from '@tenon/packed-func'
import { packedAttribute } from './packed-attribute.ts'

/** A call of a packed function, whose attributes and temporaries are ready. */
export interface PackedCall extends FrameCall {
  readonly operandCount: number
  /** The library, and the memory that pointers among the attributes refer to. They are open while the call runs. */
  readonly gated: readonly Gated[]
  /** Returns the arguments for tensors, operands before results. */
  order(tensors: readonly Tensor[]): Argument[]
}

/** Prepares a call of a packed function. @throws {ArgumentError} for an option that packed functions do not have. */
export function preparePackedCall(
  signature: KernelSignature,
  library: Gated,
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
  const types = [...operands, ...results].filter((one) => one instanceof TensorType)
  return {
    operandCount,
    gated: [library, ...memoryOf(values)],
    frame: { running: false },
    shape: { types },
    isAlive: true,
    closeAfterRuns: () => {},
    order: (tensors) => {
      checkResults(name, names, operandCount, aliases, tensors)
      refuseOverlaps(types, operandCount, tensors, (i) => `${names[i]} of ${name}`)
      return parts.map((part) => (typeof part === 'number' ? argumentFor(tensors[part]!) : part.value))
    },
  }
}

/** The tensors of a list of operands, behind the places for the call and its library. */
export const tensorsOf = (list: readonly Gated[]): Tensor[] => list.slice(FIRST_TENSOR) as readonly Gated[] as Tensor[]

/** The signature declares that operands are only read. */
const argumentFor = (x: Tensor): Argument => ((x.flags & READ_ONLY) === 0 ? x : readOnly(x))

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
