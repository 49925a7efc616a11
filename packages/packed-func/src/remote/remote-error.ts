import { mostRecentLast } from '../errors/crossing.ts'
import { makeError } from '../errors/error-kinds.ts'
import { malformed, readMessage } from './message-reader.ts'

/** An error without a cause, as another process describes it. */
interface Described {
  readonly kind: string
  readonly sentence: string
  readonly traceback: string
  /** The id of an error that this process raised. */
  readonly id: number | undefined
}

/**
 * Makes the error that a packed function in another process raised, as a call in this process throws it.
 *
 * @param raised the values that functions of this process have thrown during the call, by their ids. Each returns as itself.
 * @throws {RuntimeError} if the bytes are not an error.
 */
export function decodeError(bytes: Uint8Array, raised: ReadonlyMap<number, unknown>): unknown {
  const parts = readMessage(bytes, () => null)
  if (!Array.isArray(parts) || parts.length !== 5) throw malformed()
  const [kind, sentence, traceback, causes, id] = parts as readonly unknown[]
  if (!Array.isArray(causes)) throw malformed()
  const chain = [describeError(kind, sentence, traceback, id)]
  for (const cause of causes as readonly unknown[]) {
    if (!Array.isArray(cause) || cause.length !== 4) throw malformed()
    const [causeKind, causeSentence, causeTraceback, causeId] = cause as readonly unknown[]
    chain.push(describeError(causeKind, causeSentence, causeTraceback, causeId))
  }
  return chain.reduceRight<unknown>((cause, one) => {
    if (one.id !== undefined && raised.has(one.id)) return raised.get(one.id)
    return makeError(one.kind, one.sentence, {
      nativeBacktrace: mostRecentLast(one.traceback),
      ...(cause === undefined ? {} : { cause }),
    })
  }, undefined)
}

function describeError(kind: unknown, sentence: unknown, traceback: unknown, id: unknown): Described {
  if (typeof kind !== 'string' || typeof sentence !== 'string' || typeof traceback !== 'string') throw malformed()
  return { kind, sentence, traceback, id: typeof id === 'number' ? id : undefined }
}
