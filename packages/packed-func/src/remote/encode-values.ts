import { ArgumentRangeError, dtypeInfo, ReadOnlyError, Tensor, type DType } from '@tenon/core'
import { adopt, checkEnterable, describe, isStringTensor } from '@tenon/core/internal'
import { kindOf, PackedFuncTypeError, RecursionError, ValueError } from '../errors/error-kinds.ts'
import { NativeArray, NativeMap, NativeShape } from '../objects/containers.ts'
import { NativeObject } from '../objects/native-object.ts'
import { isPadded } from '../tensors/description.ts'
import { DataType, FloatValue, IntValue, isDevice, isInt64 } from '../values/scalars.ts'
import { ReadOnlyTensor, TensorView } from '../values/wrappers.ts'
import { DEEPEST } from './message-reader.ts'
import { EXTENSION, MessageWriter, wideWords, words } from './message-writer.ts'

/** What values refer to besides their own bytes. */
export interface ValueReferences {
  /** Returns the index of a tensor among the operands of the request, or undefined for a tensor that is passed by value. */
  operandOf(tensor: Tensor, isOnlyRead: boolean): number | undefined
  /** Returns the id by which the other process calls a function. @param place for messages. @throws {TenonError} if it is refused. */
  idOf(run: (...values: never[]) => unknown, place: string): number
}

/**
 * Encodes the arguments of a packed function that runs in another process, as `csrc/host/kernels/value.h` of the core describes.
 *
 * @throws {PackedFuncTypeError} for an argument that cannot cross. @throws {ArgumentRangeError} for an integer beyond int64.
 */
export function encodeArguments(values: readonly unknown[], references: ValueReferences): Uint8Array {
  const writer = new MessageWriter()
  const encoder = new Encoder(writer, references)
  writer.array(values.length)
  values.forEach((value, i) => encoder.value(value, `argument ${i + 1}`, 1))
  return writer.finish()
}

/** Encodes what a function returned that another process has called. @throws as {@link encodeArguments} */
export function encodeReturned(value: unknown, references: ValueReferences): Uint8Array {
  const writer = new MessageWriter()
  writer.array(2)
  writer.integer(0)
  new Encoder(writer, references).value(value, 'the result', 1)
  return writer.finish()
}

/** Encodes what a function threw. @param id the number by which the caller recognises the value if it comes back. */
export function encodeThrown(thrown: unknown, id: number): Uint8Array {
  const writer = new MessageWriter()
  const { kind, sentence } = readThrown(thrown)
  writer.array(5)
  writer.integer(1)
  writer.text(kind.slice(0, LONGEST_KIND))
  writer.text(sentence.slice(0, LONGEST_SENTENCE))
  writer.text('')
  writer.integer(id)
  return writer.finish()
}

/** In characters, so that the whole error fits into the body of a slot. */
const LONGEST_KIND = 256
const LONGEST_SENTENCE = 4096

/** Reading a thrown value may throw, because it can have getters or be a proxy. */
function readThrown(thrown: unknown): { kind: string; sentence: string } {
  try {
    return kindOf(thrown)
  } catch {
    return { kind: 'RuntimeError', sentence: 'the thrown value cannot be read' }
  }
}

class Encoder {
  readonly #writer: MessageWriter
  readonly #references: ValueReferences

  constructor(writer: MessageWriter, references: ValueReferences) {
    this.#writer = writer
    this.#references = references
  }

  value(value: unknown, place: string, depth: number): void {
    const writer = this.#writer
    if (depth > DEEPEST) {
      throw new RecursionError(`${place} is nested more than ${DEEPEST} deep`, { hint: 'Pass flatter values.' })
    }
    switch (typeof value) {
      case 'undefined':
        writer.nil()
        return
      case 'boolean':
        writer.boolean(value)
        return
      case 'string':
        writer.text(value)
        return
      case 'number':
        if (Number.isSafeInteger(value) && !Object.is(value, -0)) writer.integer(value)
        else writer.float(value)
        return
      case 'bigint':
        writer.integer(checkInt64(value))
        return
      case 'function':
        writer.extension(EXTENSION.function, words(this.#references.idOf(value as () => unknown, place)))
        return
      case 'object':
        if (value === null) writer.nil()
        else this.#object(value, place, depth)
        return
      default:
        throw refuse(value, place)
    }
  }

  #object(value: object, place: string, depth: number): void {
    const writer = this.#writer
    if (value instanceof Tensor) this.#tensor(value, place, false)
    else if (value instanceof TensorView) this.#tensor(value.value, place, false)
    else if (value instanceof ReadOnlyTensor) this.#tensor(value.tensor, place, true)
    else if (value instanceof FloatValue) writer.float(value.value)
    else if (value instanceof IntValue) writer.integer(value.value)
    else if (value instanceof Uint8Array) writer.bytes(value)
    else if (Array.isArray(value)) this.#array(value, place, depth)
    else if (value instanceof NativeArray) this.#array(value.toArray(), place, depth)
    else if (value instanceof Map) this.#map([...(value as Map<unknown, unknown>)], place, depth)
    else if (value instanceof NativeMap) this.#map([...value], place, depth)
    else if (value instanceof NativeShape) writer.extension(EXTENSION.shape, wideWords(value.toArray()))
    else if (value instanceof DataType) writer.extension(EXTENSION.dtype, dtypeBytes(value))
    else if (!(value instanceof NativeObject) && isDevice(value)) {
      writer.extension(EXTENSION.device, words(value.type, value.id))
    } else {
      const own = adopt(value, place)
      if (!(own instanceof Tensor)) throw refuse(value, place)
      this.#tensor(own, place, false)
    }
  }

  #array(values: readonly unknown[], place: string, depth: number): void {
    const { length } = values
    this.#writer.array(length)
    for (let i = 0; i < length; i++) this.value(values[i], `${place}[${i}]`, depth + 1)
  }

  #map(entries: readonly (readonly [unknown, unknown])[], place: string, depth: number): void {
    this.#writer.map(entries.length)
    for (const [key, value] of entries) {
      this.value(key, `a key of ${place}`, depth + 1)
      this.value(value, `a value of ${place}`, depth + 1)
    }
  }

  #operandOf(tensor: Tensor, place: string, isOnlyRead: boolean): number | undefined {
    try {
      return this.#references.operandOf(tensor, isOnlyRead)
    } catch (error) {
      if (!(error instanceof ReadOnlyError)) throw error
      const { sentence, hint, details } = error
      throw new ReadOnlyError(`${place}: ${sentence}`, { hint, details: { ...details, path: place } })
    }
  }

  #tensor(tensor: Tensor, place: string, isOnlyRead: boolean): void {
    const { type } = tensor
    if (isPadded(type)) {
      throw new ValueError(`${place} must be packed, got ${type} with a byte for each element`, {
        hint: "Make it with { packing: 'packed' }.",
      })
    }
    const operand = this.#operandOf(tensor, place, isOnlyRead)
    const dtype = dtypeBytes(dlpackOf(type.dtype))
    const dimensions = wideWords(type.shape)
    if (operand !== undefined) {
      this.#writer.extension(EXTENSION.tensor, words(operand), dtype, dimensions)
      return
    }
    checkEnterable(tensor.block)
    const { block, base } = tensor.contiguous()
    const bytes = block.bytes.subarray(base, base + type.byteSize)
    this.#writer.extension(EXTENSION.copy, dtype, words(type.shape.length), dimensions, bytes)
  }
}

function dlpackOf(dtype: DType): Pick<DataType, 'code' | 'bits' | 'lanes'> {
  const { dlpack, bits } = dtypeInfo(dtype)
  return { code: dlpack, bits, lanes: 1 }
}

const dtypeBytes = ({ code, bits, lanes }: Pick<DataType, 'code' | 'bits' | 'lanes'>): Uint8Array =>
  Uint8Array.of(code, bits, lanes & 0xff, lanes >> 8)

function checkInt64(value: bigint): bigint {
  if (isInt64(value)) return value
  throw new ArgumentRangeError(`an integer must be from -2^63 to 2^63 - 1, ${value} is too large to fit in int64_t`, {
    hint: 'Pass it as text or as bytes.',
    details: { expected: 'an integer from -2^63 to 2^63 - 1', received: describe(value) },
  })
}

const HINT =
  'Pass null, a boolean, a number, a bigint, text, bytes, a tensor, or an array or Map of them. Objects and addresses belong to this process.'

const STRINGS_HINT =
  "Call it as a kernel with a signature: library.kernel(name, { signature: '(text: string[n]) -> (ids: s32[n])' })."

function refuse(value: unknown, place: string): PackedFuncTypeError {
  const received = describe(value)
  return new PackedFuncTypeError(
    'TypeError',
    `${place}: a packed function in another process cannot take ${received}`,
    {
      hint: isStringTensor(value) ? STRINGS_HINT : HINT,
      details: { path: place, received },
    },
  )
}
