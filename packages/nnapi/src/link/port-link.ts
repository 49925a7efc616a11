import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import type { Doorbell } from './doorbell.ts'
import type { Attachment } from '@tenon/pools/internal'
import { checkFrame, type Link, type MessageBuffer, messageBuffer, PeerGone } from './link.ts'

/** One end of a channel between threads, which can be sent to a worker. */
export interface PortEnd {
  readonly port: MessagePort
  readonly state: SharedArrayBuffer
  readonly side: 0 | 1
}

/** The number of messages to side 0, that to side 1, and whether the channel is closed. */
const WORDS = 3
const CLOSED = 2

interface PortMessage {
  readonly bytes: Uint8Array
  readonly attachments: readonly SharedArrayBuffer[]
}

export function portPair(): [PortEnd, PortEnd] {
  const { port1, port2 } = new MessageChannel()
  const state = new SharedArrayBuffer(WORDS * Int32Array.BYTES_PER_ELEMENT)
  return [
    { port: port1 as unknown as MessagePort, state, side: 0 },
    { port: port2 as unknown as MessagePort, state, side: 1 },
  ]
}

/** One end of a channel between threads of this process, where there are no sockets: messages through a port. */
export class PortLink implements Link {
  readonly sent: MessageBuffer = messageBuffer()
  readonly received: MessageBuffer = messageBuffer()
  readonly #port: MessagePort
  readonly #state: Int32Array<SharedArrayBuffer>
  readonly #mine: number
  readonly #theirs: number
  readonly #inbox: PortMessage[] = []

  constructor({ port, state, side }: PortEnd) {
    this.#port = port
    this.#state = new Int32Array(state)
    this.#mine = side
    this.#theirs = 1 - side
  }

  listen(onRing: () => void): Doorbell {
    this.#port.on('message', (message: PortMessage) => {
      this.#inbox.push(message)
      onRing()
    })
    this.#port.unref()
    return {
      attachments: [],
      sent: () => {},
      ref: () => this.#port.ref(),
      unref: () => this.#port.unref(),
      close: () => this.#port.close(),
    }
  }

  send(length: number, attachments: readonly Attachment[]): void {
    this.#checkOpen()
    // A copy is transferred, because the buffer is written again for the next message.
    const bytes = Uint8Array.prototype.slice.call(this.sent.bytes, 0, length)
    this.#port.postMessage({ bytes, attachments }, [bytes.buffer])
    this.#wake(this.#theirs)
  }

  receive(timeout: number): readonly Attachment[] | undefined {
    const end = timeout < 0 ? Infinity : performance.now() + timeout
    for (;;) {
      const seen = Atomics.load(this.#state, this.#mine)
      const message = this.#next()
      if (message !== undefined) return this.#take(message)
      this.#checkOpen()
      const left = end - performance.now()
      if (!(left > 0)) return undefined
      Atomics.wait(this.#state, this.#mine, seen, left)
    }
  }

  call(length: number, timeout: number): readonly Attachment[] | undefined {
    this.send(length, [])
    return this.receive(timeout)
  }

  close(): void {
    Atomics.store(this.#state, CLOSED, 1)
    this.#wake(this.#mine)
    this.#wake(this.#theirs)
    this.#port.close()
  }

  #next(): PortMessage | undefined {
    return this.#inbox.shift() ?? (receiveMessageOnPort(this.#port)?.message as PortMessage | undefined)
  }

  #take({ bytes, attachments }: PortMessage): readonly Attachment[] {
    checkFrame(bytes, attachments.length)
    this.received.bytes.set(bytes)
    return attachments
  }

  #wake(side: number): void {
    Atomics.add(this.#state, side, 1)
    Atomics.notify(this.#state, side)
  }

  #checkOpen(): void {
    if (Atomics.load(this.#state, CLOSED) !== 0) throw new PeerGone('the peer has disconnected')
  }
}
