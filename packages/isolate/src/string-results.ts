import { NativeError, type Tensor } from '@tenon/core'
import {
  AnswerReader,
  CONSTANTS,
  LAYOUTS,
  stringsArrived,
  type AnswerPart,
  type RemoteAnswer,
  type RemoteOperand,
  type RemotePart,
} from '@tenon/core/internal'
import type { SharedMemory } from '@tenon/pools'

const FLAGS: Readonly<Record<string, number>> = {
  tf: CONSTANTS.TN_HOST_STRINGS_TF,
  rfc16: CONSTANTS.TN_HOST_STRINGS_RFC16,
  rfc24: CONSTANTS.TN_HOST_STRINGS_RFC24,
}

/** The flags of an operand in a request, which say that a result has strings. */
export const stringFlags = ({ type, isWritten }: RemoteOperand): number =>
  isWritten && type.strings !== undefined ? FLAGS[type.strings.layout]! : 0

const { size: RECORD, offsets: AT } = LAYOUTS.tn_host_strings_t
const COUNT_SIZE = 4

/** The strings of the results of one call, as the end of an answer lists them. The answer is not trusted. */
export class StringResults {
  readonly #operands: readonly (RemoteOperand | null)[]
  readonly #memory: SharedMemory
  readonly #reader: AnswerReader<Buffer>

  constructor(operands: readonly (RemoteOperand | null)[], memory: SharedMemory) {
    this.#operands = operands
    this.#memory = memory
    this.#reader = new AnswerReader(memory, { decode: ({ buffer }) => this.#decode(Buffer.from(buffer)), malformed })
  }

  /** Returns where the strings are copied to, once. @throws {NativeError} for an answer that is not valid. */
  parts(answer: RemoteAnswer): readonly RemotePart[] {
    return this.#reader.parts(answer)
  }

  /** Returns the answer of the kernel, without the list. */
  answerOf(answer: RemoteAnswer): RemoteAnswer {
    return answer.hasStrings ? { ...answer, value: 0, hasStrings: false, body: this.#reader.read(answer) } : answer
  }

  /** @returns the body of the kernel, and the strings behind it */
  #decode(bytes: Buffer): { readonly value: Buffer; readonly parts: readonly AnswerPart[] } {
    const end = bytes.length - COUNT_SIZE
    const count = end < 0 ? refuse() : bytes.readUInt32LE(end)
    const start = end - count * RECORD
    if (start < 0) refuse()
    const tables = new Set<Tensor>()
    const parts = Array.from({ length: count }, (_, i): AnswerPart => {
      const at = start + i * RECORD
      const operand = this.#operands[bytes.readUInt32LE(at + AT.operand)]
      const size = Number(bytes.readBigUInt64LE(at + AT.size))
      const table = operand?.tensor
      if (table === undefined || stringFlags(operand!) === 0 || tables.has(table) || !Number.isSafeInteger(size))
        refuse()
      tables.add(table)
      const target = this.#memory.allocate(size, TABLE_ALIGNMENT)
      stringsArrived(table, target)
      return { target, index: bytes.readUInt32LE(at + AT.part) }
    })
    return { value: bytes.subarray(0, start), parts }
  }
}

const TABLE_ALIGNMENT = 64

const malformed = (): NativeError => new NativeError('a worker answered with strings that are not those of the call')

function refuse(): never {
  throw malformed()
}
