import { ModelUnavailableError, ProtocolError } from '../errors.ts'
import { joined, type Reply } from './exchange.ts'

/** A part of a body of `multipart/mixed`. */
export type BodyPart = Pick<Reply, 'header' | 'bytes'>

/** The longest line of a part's headers in bytes, and the most lines. */
const LONGEST_LINE = 1024
const MOST_LINES = 32

/**
 * Reads a body of `multipart/mixed` (RFC 2046, section 5.1.3) whose parts state their lengths.
 *
 * @throws (rejects with) {ProtocolError} for another body; {ModelUnavailableError} for one that was cut off.
 */
export async function* readParts({ header, chunks }: Reply): AsyncGenerator<BodyPart, void, undefined> {
  const type = header('content-type') ?? ''
  const boundary = /^multipart\/mixed; *boundary="?([\w-]{1,70})"?$/.exec(type)?.[1]
  if (chunks === undefined || boundary === undefined) {
    throw new ProtocolError(`the stream of the server must be multipart/mixed, got ${type.slice(0, 60)}`)
  }
  const body = chunks[Symbol.asyncIterator]()
  const reader = new PartReader(body)
  try {
    for (;;) {
      const delimiter = await reader.line()
      if (delimiter === `--${boundary}--`) return
      if (delimiter !== `--${boundary}`) throw new ProtocolError('the parts of a stream must begin with its boundary')
      const headers = await reader.headers()
      const bytes = await reader.bytes(lengthOf(headers))
      if ((await reader.line()) !== '') throw new ProtocolError('a part of a stream must have the bytes that it states')
      yield { bytes, header: (name) => headers.get(name) }
    }
  } finally {
    await body.return?.()
  }
}

function lengthOf(headers: ReadonlyMap<string, string>): number {
  const text = headers.get('content-length') ?? ''
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new ProtocolError(`a part of a stream must state its content-length, got ${JSON.stringify(text.slice(0, 60))}`)
}

/** Reads lines and bytes from chunks, and keeps what is behind them. */
class PartReader {
  readonly #chunks: AsyncIterator<Uint8Array>
  #chunk: Uint8Array = new Uint8Array()

  constructor(chunks: AsyncIterator<Uint8Array>) {
    this.#chunks = chunks
  }

  async headers(): Promise<ReadonlyMap<string, string>> {
    const headers = new Map<string, string>()
    for (let count = 0; count <= MOST_LINES; count++) {
      const line = await this.line()
      if (line === '') return headers
      const colon = line.indexOf(':')
      headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim())
    }
    throw new ProtocolError(`a part of a stream must have at most ${MOST_LINES} headers`)
  }

  /** The next line without its end. */
  async line(): Promise<string> {
    let line = ''
    while (!line.endsWith('\r\n')) {
      const end = this.#chunk.indexOf(LINE_FEED)
      const part = this.#take(end === -1 ? this.#chunk.length : end + 1)
      line += String.fromCharCode(...part.subarray(0, LONGEST_LINE))
      if (line.length >= LONGEST_LINE) throw new ProtocolError('a part of a stream must have shorter headers')
      if (end === -1) await this.#next()
    }
    return line.slice(0, -2)
  }

  async bytes(size: number): Promise<Uint8Array<ArrayBuffer>> {
    const parts: Uint8Array[] = []
    for (let rest = size; rest > 0;) {
      if (this.#chunk.length === 0) await this.#next()
      const part = this.#take(Math.min(rest, this.#chunk.length))
      parts.push(part)
      rest -= part.length
    }
    return joined(parts)
  }

  #take(size: number): Uint8Array {
    const taken = this.#chunk.subarray(0, size)
    this.#chunk = this.#chunk.subarray(size)
    return taken
  }

  async #next(): Promise<void> {
    let next: IteratorResult<Uint8Array, unknown>
    try {
      next = await this.#chunks.next()
    } catch (error) {
      throw cutOff(error)
    }
    if (next.done === true) throw cutOff()
    this.#chunk = next.value
  }
}

const LINE_FEED = 10

const cutOff = (cause?: unknown): ModelUnavailableError =>
  new ModelUnavailableError('the stream of the server must end with its last part, but it broke off', {
    hint: 'Send the request again.',
    cause,
  })
