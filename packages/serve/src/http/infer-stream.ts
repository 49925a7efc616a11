import { randomUUID } from 'node:crypto'
import type { ServerState } from '../service/server-state.ts'
import { answerStream } from './answer-stream.ts'
import { encodeAsJson } from './encode-response.ts'
import type { Exchange } from './exchange.ts'
import { receiveInference } from './infer.ts'
import type { StreamAnswer } from './send-stream.ts'

/**
 * Runs a model, and answers with `multipart/mixed` (RFC 2046, section 5.1.3). Each part has the body of an answer to `infer` with its headers, so
 * tensors can be bytes, which server-sent events cannot have. A part with the header `Status` is an error and the last one. A body without
 * the delimiter behind the last part was cut off.
 *
 * @throws (rejects with) the error to answer if the model fails before its first answer.
 */
export async function inferStream(state: ServerState, exchange: Exchange): Promise<StreamAnswer> {
  const received = await receiveInference(state, exchange)
  const boundary = randomUUID()
  const partOf = (headers: string, contents: readonly (Uint8Array | string)[]): Buffer => {
    const bytes = contents.map((content) => (typeof content === 'string' ? Buffer.from(content) : content))
    const size = bytes.reduce((sum, { length }) => sum + length, 0)
    const head = Buffer.from(`--${boundary}\r\n${headers}content-length: ${size}\r\n\r\n`)
    // A copy, because the model may write its next answer to the same memory.
    return Buffer.concat([head, ...bytes, CRLF])
  }
  return answerStream(exchange, received, {
    contentType: `multipart/mixed; boundary=${boundary}`,
    encode: (response) => {
      const { text, binary } = encodeAsJson(response)
      if (binary.length === 0) return partOf('content-type: application/json\r\n', [text])
      const size = `inference-header-content-length: ${Buffer.byteLength(text)}\r\n`
      return partOf(`content-type: application/octet-stream\r\n${size}`, [text, ...binary])
    },
    encodeFailure: ({ status, text }) => partOf(`content-type: application/json\r\nstatus: ${status}\r\n`, [text]),
    end: `--${boundary}--\r\n`,
  })
}

const CRLF = Buffer.from('\r\n')
