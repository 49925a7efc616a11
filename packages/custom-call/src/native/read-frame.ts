import { dtypeInfo, dtypes, tensorType, type DType, type TensorType } from '@tenon/core'
import { addressOf, checkStatus, CONSTANTS, coreFunctions } from '@tenon/core/internal'
import { Attribute, type ReadAttributes } from '../attributes/attribute.ts'
import { refused } from '../errors/xla-error-classes.ts'

export interface ReadBuffer {
  readonly type: TensorType
  readonly pointer: bigint
}

export interface ReadFrame {
  readonly operands: readonly ReadBuffer[]
  readonly results: readonly ReadBuffer[]
  readonly attributes: ReadAttributes
}

/** Kinds of attributes, as the ABI numbers them. */
const { TN_XLA_ARRAY: ARRAY, TN_XLA_DICTIONARY: DICTIONARY, TN_XLA_SCALAR: SCALAR } = CONSTANTS

const dtypeOfCode: ReadonlyMap<number, DType> = new Map(dtypes.map(({ xla, name }) => [xla, name]))

/** The memory that the core copies a call to. It grows when it is too small. */
let memory = new ArrayBuffer(4096)
const length = new BigUint64Array(1)

/** Reads the frame of a call from native code. @throws {XlaError} if functions cannot take one of its element types. */
export function readFrame(call: number, target: string): ReadFrame {
  const read = (): void => {
    const status = coreFunctions().tn_xla_function_read(call, addressOf(memory), memory.byteLength, addressOf(length))
    checkStatus(status, `reading a call of ${target}`)
  }
  read()
  if (length[0]! > memory.byteLength) {
    memory = new ArrayBuffer(Number(length[0]))
    read()
  }
  return new Reader(memory, target).frame()
}

/** Reads the copy of a frame. The core has checked its lengths and counts. */
class Reader {
  readonly #view: DataView
  readonly #target: string
  #at = 0

  constructor(buffer: ArrayBuffer, target: string) {
    this.#view = new DataView(buffer)
    this.#target = target
  }

  frame(): ReadFrame {
    const [operands, results, attributes] = [this.#u32(), this.#u32(), this.#u32()]
    this.#at = 16
    return {
      operands: Array.from({ length: operands }, () => this.#buffer()),
      results: Array.from({ length: results }, () => this.#buffer()),
      attributes: this.#dictionary(attributes),
    }
  }

  #u32(): number {
    this.#at += 4
    return this.#view.getUint32(this.#at - 4, true)
  }

  #u64(): bigint {
    this.#at += 8
    return this.#view.getBigUint64(this.#at - 8, true)
  }

  #bytes(byteSize: number): Uint8Array {
    const bytes = new Uint8Array(this.#view.buffer, this.#at, byteSize).slice()
    this.#at += Math.ceil(byteSize / 8) * 8
    return bytes
  }

  #dtype(): DType {
    const code = this.#u32()
    const dtype = dtypeOfCode.get(code)
    if (dtype !== undefined) return dtype
    const text = `Wrong buffer dtype: a TypeScript function cannot take elements of type ${code}`
    throw refused('INVALID_ARGUMENT', this.#target, text)
  }

  #buffer(): ReadBuffer {
    const dtype = this.#dtype()
    const rank = this.#u32()
    const pointer = this.#u64()
    const shape = Array.from({ length: rank }, () => Number(this.#u64()))
    return { type: tensorType(dtype, shape, { packing: 'element' }), pointer }
  }

  #dictionary(count: number): ReadAttributes {
    return Object.fromEntries(
      Array.from({ length: count }, () => {
        const kind = this.#u32()
        const name = Buffer.from(this.#bytes(this.#u32())).toString()
        return [name, this.#value(kind)]
      }),
    )
  }

  #value(kind: number): Attribute | ReadAttributes {
    if (kind === DICTIONARY) {
      const count = this.#u32()
      this.#at += 4
      return this.#dictionary(count)
    }
    if (kind !== SCALAR && kind !== ARRAY) {
      const byteSize = Number(this.#u64())
      return new Attribute('string', undefined, byteSize, this.#bytes(byteSize))
    }
    const dtype = this.#dtype()
    const byteSize = this.#u32()
    if (kind === SCALAR) return new Attribute('scalar', dtype, 1, this.#bytes(byteSize))
    const count = Number(this.#u64())
    // XLA stores elements of less than a byte in a byte each.
    return new Attribute('array', dtype, count, this.#bytes(count * Math.ceil(dtypeInfo(dtype).bits / 8)))
  }
}
