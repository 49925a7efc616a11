/** One attempt of a request. */
export interface Attempt {
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  /** The parts of the body. */
  readonly body: readonly Uint8Array[]
  readonly signal: AbortSignal
  /** Whether the body of an answer with the status 200 is read in parts. */
  readonly isStream?: boolean
}

/** An answer with any status. */
export interface Reply {
  readonly status: number
  /** The value of a header, whose name is in lower case. */
  header(name: string): string | undefined
  readonly bytes: Uint8Array<ArrayBuffer>
  /** The body of a stream, which is read as it is asked for. To return ends the connection. */
  readonly chunks?: AsyncIterable<Uint8Array>
}

export const NO_BYTES: Uint8Array<ArrayBuffer> = new Uint8Array()

/** A way to send requests. */
export interface Exchanger {
  /** @throws (rejects with) the system's error if no answer comes. */
  exchange(url: string, attempt: Attempt): Promise<Reply>
  /** Ends idle connections. */
  close(): void
}

/** Sends requests with `fetch`, which browsers have. Their connections are those of the page. */
export const fetchExchanger: Exchanger = {
  async exchange(url, { body, isStream, ...attempt }) {
    const content = body.length === 0 ? null : joined(body)
    const response = await fetch(url, { ...attempt, body: content, redirect: 'error' })
    const { status, headers } = response
    const header = (name: string): string | undefined => headers.get(name) ?? undefined
    if (isStream === true && status === 200 && response.body !== null) {
      return { status, header, bytes: NO_BYTES, chunks: chunksOf(response.body) }
    }
    return { status, header, bytes: new Uint8Array(await response.arrayBuffer()) }
  },
  close() {},
}

/** Some browsers cannot iterate their streams. */
async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel()
  }
}

/** The parts behind each other. */
export function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
