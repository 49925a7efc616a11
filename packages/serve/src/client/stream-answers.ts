import { callLater } from '../service/call-later.ts'
import type { ClientStrings, ClientTensor } from './client-tensor.ts'
import type { Reply } from './exchange.ts'
import { readAnswer } from './read-answer.ts'
import { readParts } from './read-parts.ts'
import { errorOf } from './transport.ts'

/**
 * Reads the answers of a stream as they are asked for. To return ends the request.
 *
 * @param open sends the request, which ends with the signal. @param signal ends the stream with its reason.
 * @param late makes the error of an answer that does not come within `deadline` milliseconds.
 * @throws (rejects with) what `open` throws; the error of the server that ends the stream; the reason of the signal.
 */
export async function* streamAnswers(
  open: (signal: AbortSignal) => Promise<Reply>,
  signal: AbortSignal | undefined,
  deadline: number,
  late: () => Error,
): AsyncGenerator<Readonly<Record<string, ClientTensor | ClientStrings>>, void, undefined> {
  const lateness = new AbortController()
  const limit = (): (() => void) => callLater(() => lateness.abort(late()), deadline)
  const either = signal === undefined ? lateness.signal : AbortSignal.any([signal, lateness.signal])
  let takeBack = limit()
  try {
    for await (const { bytes, header } of readParts(await open(either))) {
      // The time that the caller takes for an answer does not count.
      takeBack()
      const status = header('status')
      if (status !== undefined) throw errorOf(Number(status), bytes)
      yield readAnswer({ bytes, header })
      either.throwIfAborted()
      takeBack = limit()
    }
  } catch (error) {
    either.throwIfAborted()
    throw error
  } finally {
    takeBack()
  }
}
