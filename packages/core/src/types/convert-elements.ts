import { wrongType } from '../errors/check-arguments.ts'
import { checkOptions } from '../errors/check-options.ts'
import { ArgumentError } from '../errors/kinds.ts'
import { CONSTANTS } from '../generated/layouts.ts'
import { checkStatus, coreFunctions } from '../native/core-library.ts'
import { addressOf, keepAlive } from '../native/native-memory.ts'
import { cpu, type Device } from './device.ts'
import { dtypeInfo, type DTypeInfo } from './dtype.ts'
import { checkWritable, copyBytes, sharedBytes, writeBytes, type Memory } from './tensor-bytes.ts'
import { typeWith, type TensorType } from './tensor-type.ts'

/** Whether `tn_convert` knows a type. */
const isConvertible = ({ name, kind, bits }: DTypeInfo): boolean =>
  name === 'float32' || (bits <= 16 && kind !== 'bool')

/** Returns the row-major type of the elements of a tensor as another type. @throws {ArgumentError} if one cannot be converted. */
function convertedType({ dtype, shape }: TensorType, name: string): TensorType {
  const info = dtypeInfo(name)
  for (const each of [dtypeInfo(dtype), info]) {
    if (isConvertible(each)) continue
    throw new ArgumentError(
      `elements are converted between float32 and types of at most 16 bits other than bool, got ${each.name}`,
      {
        hint: 'Convert them by a TypedArray: tensor(dtype, shape, new Float64Array(x.view())).',
        details: { expected: 'float32, or a type of at most 16 bits', received: each.name },
      },
    )
  }
  return typeWith(info.name, shape, {})
}

/** A tensor. */
interface Operand extends Memory {
  readonly address: number
  readonly flags: number
  readonly device: Device
}

/** The functions of tensors, whose module imports this one. */
interface Tensors<T extends Operand> {
  readonly isGenuine: (value: object) => value is T
  readonly newTensor: (type: TensorType) => T
}

/**
 * Converts all elements.
 *
 * @param source a readable row-major tensor. @returns `into`, or a new tensor.
 * @throws {ArgumentError} if a type cannot be converted, or `into` has another type or shape, or overlaps the source.
 * @throws {ReadOnlyError | ScopeClosedError} if `into` cannot be written.
 */
export function converted<T extends Operand>(
  source: T,
  dtype: string,
  options: { readonly into?: T } | undefined,
  { isGenuine, newTensor }: Tensors<T>,
): T {
  const { into } = checkOptions(options, ['into'])
  const type = convertedType(source.type, dtype)
  if (into !== undefined) checkTarget(into, type, source, isGenuine)
  const target = into ?? newTensor(type)
  if (type.elementCount > 0) convertInto(source, target)
  return target
}

function checkTarget(into: Operand, type: TensorType, source: Operand, isGenuine: (value: object) => boolean): void {
  if (!isGenuine(Object(into))) throw wrongType('into', 'a tensor', into)
  if (typeWith(into.type.dtype, into.type.shape, {}) !== type || into.device.type !== cpu.type) {
    throw new ArgumentError(`into must be a tensor of ${type} on the CPU, got ${into.type}`, {
      details: { path: 'into', expected: String(type), received: String(into.type) },
    })
  }
  checkWritable(into)
  if (sharedBytes(source, into) > 0) {
    throw new ArgumentError('into must not overlap the tensor that is converted', {
      hint: 'Convert into other memory, or without into.',
    })
  }
}

function convertInto(source: Operand, target: Operand): void {
  const { dtype, shape, packing } = target.type
  if (source.type.dtype === dtype && packing === 'element' && source.type.packing === 'element')
    return copyBytes(source, target)
  if (target.type.strides === undefined && packing === 'element') {
    convert(source.type, source.address, target.type, target.address)
    keepAlive(target.block.bytes)
  } else {
    // The last byte of packed elements can have others behind them.
    const type = typeWith(dtype, shape, { packing })
    const bytes = new Uint8Array(type.byteSize)
    convert(source.type, source.address, type, addressOf(bytes))
    keepAlive(bytes)
    writeBytes(target, bytes)
  }
  keepAlive(source.block.bytes)
}

/** Returns the bytes of elements of a small type. */
export function encodeFloats(type: TensorType, values: Float32Array): Uint8Array {
  const bytes = new Uint8Array(type.byteSize)
  if (values.length === 0) return bytes
  convert(typeWith('float32', type.shape, {}), addressOf(values), type, addressOf(bytes))
  keepAlive(values)
  keepAlive(bytes)
  return bytes
}

function convert(from: TensorType, fromAddress: number, to: TensorType, toAddress: number): void {
  const flags =
    (from.packing === 'packed' ? CONSTANTS.TN_CONVERT_FROM_PACKED : 0) |
    (to.packing === 'packed' ? CONSTANTS.TN_CONVERT_TO_PACKED : 0)
  const [fromType, toType] = [dtypeInfo(from.dtype).xla, dtypeInfo(to.dtype).xla]
  const status = coreFunctions().tn_convert(fromAddress, fromType, toAddress, toType, from.elementCount, flags)
  checkStatus(status, 'converting elements')
}
