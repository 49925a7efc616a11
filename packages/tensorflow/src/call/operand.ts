import { AlignmentError, ArgumentError, cpu, tensorType, Tensor } from '@tenon/core'
import {
  adopt,
  checkEnterable,
  checkStrings,
  hex,
  isPlainObject,
  isStringTensor,
  readStrings,
  stringSegmentOf,
  wrongType,
  type Gated,
  type StringUse,
} from '@tenon/core/internal'
import { STRING, typeOfElements, type ElementType } from '../element-types.ts'
import { Donated } from './donated.ts'
import { plainType, stringType, type OperandType } from './frame.ts'

/** An operand of a call, which was read once. */
export interface Operand {
  /** The tensor. That of strings has their structs, until their elements were checked; then their whole memory as bytes. */
  readonly tensor: Tensor
  readonly key: OperandType
  readonly isDonated: boolean
}

const { isGenuine } = Tensor

/** Reads an operand. @throws {ArgumentError} if it is neither a tensor nor a string tensor in the layout `tf` */
export function readOperand(value: unknown, place: string): Operand {
  const isDonated = value instanceof Donated
  const given: unknown = isDonated ? value.tensor : value
  if (typeof given === 'object' && given !== null) {
    if (isGenuine(given)) return { tensor: given, key: plainType(given.type), isDonated }
    const own = isStringTensor(given) ? given : adopt(given, place)
    if (own instanceof Tensor) return { tensor: own, key: plainType(own.type), isDonated }
    if (own !== undefined) return readStringOperand(own, place)
  }
  throw wrongType(place, 'a tensor or a string tensor', value, MAKE_TENSORS)
}

const MAKE_TENSORS =
  "Make tensors with tensor('f32', [2, 4], values), and string tensors with StringTensor.from(['a', 'b'])."

/** Reads a tensor of strings. Its elements are checked by {@link checkStringOperands}. */
function readStringOperand(given: object, place: string): Operand {
  const tensor = readStrings(given, place)
  const { layout, shape } = tensor.type.strings!
  if (layout === 'tf') return { tensor, key: stringType(shape), isDonated: false }
  throw new ArgumentError(`${place} must be a string tensor in the layout tf, got ${layout}`, {
    hint: "Convert the strings: words.to('tf').",
    details: { path: place, expected: 'tf', received: layout },
  })
}

/**
 * Checks the elements of the strings among the operands. Code of the user must not run between this and the call.
 *
 * @returns the operands, with the memory of strings that the kernel reads as bytes, and other memory to which their elements refer
 * @throws {ArgumentError} with the element that is damaged. @throws {ScopeClosedError} if the memory of an element is closed.
 */
export function checkStringOperands(
  operands: readonly Operand[],
  use: StringUse,
): { readonly operands: readonly Operand[]; readonly regions: readonly Gated[] } {
  if (!operands.some(({ key }) => key.isString)) return { operands, regions: [] }
  const others: Gated[] = []
  const checked = operands.map((operand) => {
    if (!operand.key.isString) return operand
    const { tensor, regions } = checkStrings(operand.tensor, use)
    others.push(...regions)
    const segment = stringSegmentOf(tensor)!
    return { ...operand, tensor: new Tensor(segment, tensorType('uint8', [segment.byteSize]), cpu) }
  })
  return { operands: checked, regions: others }
}

/** Returns the element type of an operand, without quantised ones. @throws {ArgumentError} if TensorFlow does not have it */
export function elementTypeOf({ key: { type, isString } }: Operand, place: string): ElementType {
  const found = isString ? STRING : typeOfElements(type.dtype)
  if (found !== undefined) return found
  throw new ArgumentError(`${place} must have elements of a type that TensorFlow has, got ${type.dtype}`)
}

/**
 * Checks that native code can read an operand in place.
 *
 * @throws {ArgumentError | AlignmentError | ScopeClosedError} if it is closed, has strides, or is not aligned or on the CPU
 */
export function checkOperand({ tensor }: Operand, misalignment: number, place: string): void {
  checkEnterable(tensor.block)
  if (tensor.device.type !== cpu.type) {
    throw new ArgumentError(`${place} must be on the CPU, got device type ${tensor.device.type}`)
  }
  if (!tensor.isContiguous || tensor.packing === 'packed') {
    throw new ArgumentError(`${place} must be row-major, got strides or packed elements`, {
      hint: 'Pass a row-major copy: x.contiguous().',
      details: { path: place },
    })
  }
  if ((tensor.lo & misalignment) !== 0) {
    throw new AlignmentError(
      `${place} must start at a multiple of ${misalignment + 1} bytes, got ${hex(tensor.address)}`,
      {
        hint: 'Allocate the memory with the alignment of its elements.',
        details: { path: place, expected: misalignment + 1, received: hex(tensor.address) },
      },
    )
  }
}

/** Copies the attributes of a call, so that each is read once. What is not a plain object is refused when it is resolved. */
export function copyAttributes(given: unknown): unknown {
  if (!isPlainObject(given)) return given
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, Array.isArray(value) ? [...(value as unknown[])] : value]),
  )
}

/** The most elements of an array that a snapshot of attributes has. */
const MOST_ELEMENTS = 64

/** Returns the attributes as a list that calls compare, or undefined if a value is an object that can change. */
export function snapshotOf(attributes: unknown): readonly unknown[] | undefined {
  if (attributes === undefined) return []
  const flat = Object.entries(attributes as object).flatMap(([name, value]) => [name, ...flatten(value)])
  return flat.some((one) => typeof one === 'object' && one !== null) ? undefined : flat
}

function flatten(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) return [value]
  // The length separates the elements from the next attribute.
  return value.length > MOST_ELEMENTS ? [value] : [value.length, ...(value as unknown[])]
}

/** Whether two snapshots are equal. */
export function areSame(a: readonly unknown[] | undefined, b: readonly unknown[] | undefined): boolean {
  if (a === undefined || b === undefined || a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (!Object.is(a[i], b[i])) return false
  return true
}
