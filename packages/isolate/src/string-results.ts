import { NativeError, type Tensor } from '@tenon/core'
import {
  CONSTANTS,
  LAYOUTS,
  stringsArrived,
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
  #areListed = false

  constructor(operands: readonly (RemoteOperand | null)[], memory: SharedMemory) {
    this.#operands = operands
    this.#memory = memory
  }

  /** Returns where the strings are copied to, once. @throws {NativeError} for an answer that is not valid. */
  parts(answer: RemoteAnswer): readonly RemotePart[] {
    if (this.#areListed) return []
    this.#areListed = true
    const { view, start, count } = recordsOf(answer)
    const tables = new Set<Tensor>()
    return Array.from({ length: count }, (_, i): RemotePart => {
      const at = start + i * RECORD
      const operand = this.#operands[view.getUint32(at + AT.operand, true)]
      const size = Number(view.getBigUint64(at + AT.size, true))
      const table = operand?.tensor
      if (table === undefined || stringFlags(operand!) === 0 || tables.has(table) || !Number.isSafeInteger(size))
        refuse()
      tables.add(table)
      const target = this.#memory.allocate(size, TABLE_ALIGNMENT)
      stringsArrived(table, target)
      return { target, body: new Uint8Array(view.buffer.slice(at + AT.part, at + AT.part + COUNT_SIZE)) }
    })
  }

  /** Returns the answer of the kernel, without the list. */
  answerOf(answer: RemoteAnswer): RemoteAnswer {
    if (!answer.hasStrings) return answer
    return { ...answer, value: 0, hasStrings: false, body: answer.body.slice(0, recordsOf(answer).start) }
  }
}

const TABLE_ALIGNMENT = 64

/** The records at the end of an answer. */
function recordsOf({ body }: RemoteAnswer): {
  readonly view: DataView<ArrayBuffer>
  readonly start: number
  readonly count: number
} {
  const { buffer } = new Uint8Array(body)
  const view = new DataView(buffer)
  const end = view.byteLength - COUNT_SIZE
  const count = end < 0 ? refuse() : view.getUint32(end, true)
  const start = end - count * RECORD
  return start < 0 ? refuse() : { view, start, count }
}

function refuse(): never {
  throw new NativeError('a worker answered with strings that are not those of the call')
}
