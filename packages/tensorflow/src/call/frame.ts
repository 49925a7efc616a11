import { tensorType, type TensorType } from '@tenon/core'
import { addressOf, CONSTANTS, highWord, LAYOUTS, lowWord, newArrayBuffer } from '@tenon/core/internal'
import { STRING } from '../element-types.ts'
import type { Instance } from './instance.ts'

/** The type of an operand, by which calls find a frame. The type of strings is that of bytes with the same shape. */
export interface OperandType {
  readonly type: TensorType
  readonly isString: boolean
}

const { tn_tf_call_t: CALL, tn_tf_operand_t: OPERAND, tn_tf_result_t: RESULT } = LAYOUTS

/** The alignment of operands, which the elements of most types need. */
const alignmentOf = ({ type, isString }: OperandType): number =>
  isString ? 8 : Math.min(8, type.elementCount === 0 ? 1 : type.byteSize / type.elementCount)

/** The native memory of a call, for operands of certain types. */
export class Frame {
  readonly instance: Instance
  readonly operands: readonly OperandType[]
  /** The attributes of the caller, which calls compare; undefined if they cannot be compared. */
  readonly snapshot: readonly unknown[] | undefined
  /** The types of the results of the last run, which the next run most likely has, too. */
  readonly predicted: (TensorType | undefined)[]
  /** Whether a run uses the frame. */
  running = false
  /** Whether a kernel has kept memory of a run, and so refers to the frame. */
  isKept = false
  readonly address: number
  readonly lo: number
  readonly hi: number
  readonly words: Int32Array
  /** The indices in `words` of the addresses of operands and results. */
  readonly places: readonly number[]
  readonly resultPlaces: readonly number[]
  /** The distance of the flags of an operand from its place. */
  readonly flags: number = OPERAND.offsets.flags / 4
  /** The bits of an address that are zero for memory that is aligned, by operand. */
  readonly misalignments: readonly number[]
  /** The shapes for which memory is offered. */
  readonly #offered: (TensorType | undefined)[]
  readonly #dims: BigInt64Array[]

  constructor(instance: Instance, operands: readonly OperandType[], snapshot: readonly unknown[] | undefined) {
    const { results } = instance.facts
    this.instance = instance
    this.operands = operands
    this.snapshot = snapshot
    this.predicted = results.map(() => undefined)
    this.#offered = results.map(() => undefined)
    this.#dims = []
    const axes = operands.reduce((sum, { type }) => sum + type.shape.length, 0)
    const start = CALL.size + operands.length * OPERAND.size
    const size = start + results.length * RESULT.size
    const buffer = newArrayBuffer(size + 8 * axes, 8)
    this.address = addressOf(buffer)
    this.lo = lowWord(this.address)
    this.hi = highWord(this.address)
    this.words = new Int32Array(buffer, 0, (size + 8 * axes) / 4)
    this.places = operands.map((_, i) => (CALL.size + i * OPERAND.size) / 4)
    this.resultPlaces = results.map((_, i) => (start + i * RESULT.size) / 4)
    this.misalignments = operands.map((operand) => alignmentOf(operand) - 1)
    this.#write(new BigInt64Array(buffer, size, axes), this.address + size)
  }

  /** Writes what is the same in all runs. */
  #write(dims: BigInt64Array, address: number): void {
    const { operands, places, resultPlaces, words, instance } = this
    this.#setAddress(CALL.offsets.instance / 4, instance.address)
    words[CALL.offsets.operands / 4] = operands.length
    words[CALL.offsets.results / 4] = resultPlaces.length
    let axis = 0
    for (const [i, { type, isString }] of operands.entries()) {
      const at = places[i]!
      const byteSize = isString ? 24 * type.elementCount : type.byteSize
      this.#setAddress(at + OPERAND.offsets.byte_size / 4, byteSize)
      this.#setAddress(at + OPERAND.offsets.extent / 4, byteSize)
      this.#setAddress(at + OPERAND.offsets.dims / 4, address + 8 * axis)
      words[at + OPERAND.offsets.rank / 4] = type.shape.length
      words[at + OPERAND.offsets.type / 4] = isString ? STRING.code : instance.facts.operandCodes[i]!
      for (const size of type.shape) dims[axis++] = BigInt(size)
    }
    for (const [i, { code }] of instance.facts.results.entries())
      words[resultPlaces[i]! + RESULT.offsets.type / 4] = code
  }

  #setAddress(word: number, address: number): void {
    this.words[word] = lowWord(address)
    this.words[word + 1] = highWord(address)
  }

  /** Sets the address of an operand. @param extent the bytes in which its strings can be */
  setOperand(index: number, lo: number, hi: number, extent: number | undefined, isDonated: boolean): void {
    const { words } = this
    const at = this.places[index]!
    words[at] = lo
    words[at + 1] = hi
    words[at + OPERAND.offsets.flags / 4] = isDonated ? CONSTANTS.TN_TF_IS_DONATED : 0
    if (extent !== undefined) this.#setAddress(at + OPERAND.offsets.extent / 4, extent)
  }

  /** Offers memory for a result, or none. @param isExact whether only this shape is accepted */
  offer(index: number, type: TensorType | undefined, lo: number, hi: number, isExact: boolean): void {
    const { words } = this
    const at = this.resultPlaces[index]!
    if (this.#offered[index] !== type) this.#setShape(index, type)
    words[at] = lo
    words[at + 1] = hi
    words[at + RESULT.offsets.flags / 4] = isExact ? CONSTANTS.TN_TF_IS_EXACT : 0
  }

  #setShape(index: number, type: TensorType | undefined): void {
    const at = this.resultPlaces[index]!
    const dims = BigInt64Array.from(type?.shape ?? [], BigInt)
    // Native code reads the axes until the next offer.
    this.#dims[index] = dims
    this.#offered[index] = type
    this.#setAddress(at + RESULT.offsets.byte_size / 4, type?.byteSize ?? 0)
    this.#setAddress(at + RESULT.offsets.dims / 4, type === undefined ? 0 : addressOf(dims))
    this.words[at + RESULT.offsets.rank / 4] = type?.shape.length ?? 0
  }

  /** Sets the memory to which `tn_tf_take()` copies a result, or 0. */
  setTarget(index: number, address: number): void {
    this.#setAddress(this.resultPlaces[index]!, address)
  }

  stateOf(index: number): number {
    return this.words[this.resultPlaces[index]! + RESULT.offsets.state / 4]!
  }

  operandOf(index: number): number {
    return this.words[this.resultPlaces[index]! + RESULT.offsets.operand / 4]!
  }

  neededOf(index: number): number {
    return this.#addressAt(this.resultPlaces[index]! + RESULT.offsets.needed / 4)
  }

  /** The memory of an operand or result to which the kernel still refers, or 0. */
  keptOperand(index: number): number {
    return this.#addressAt(this.places[index]! + OPERAND.offsets.memory / 4)
  }

  keptResult(index: number): number {
    return this.#addressAt(this.resultPlaces[index]! + RESULT.offsets.memory / 4)
  }

  /** What is left of a run: results that are not in place, and memory that the kernel keeps. */
  get left(): number {
    return this.words[CALL.offsets.left / 4]!
  }

  get failure(): number {
    return this.#addressAt(CALL.offsets.failure / 4)
  }

  #addressAt(word: number): number {
    return (this.words[word]! >>> 0) + this.words[word + 1]! * 2 ** 32
  }
}

/** The type of strings in a frame. */
export const stringType = (shape: readonly number[]): OperandType => ({
  type: tensorType('uint8', shape),
  isString: true,
})

/** The type of a tensor in a frame. */
export const plainType = (type: TensorType): OperandType => ({ type, isString: false })
