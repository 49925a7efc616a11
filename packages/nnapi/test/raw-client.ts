import { encodeBody, decodeBody, type Reader } from '../src/wire/body.ts'
import {
  HEADER_SIZE,
  operations,
  readHeader,
  writeHeader,
  type FrameHeader,
  type HeaderFields,
} from '../src/wire/frame.ts'
import { closeDescriptor, connectTo, socketPair } from '@tenon/pools/internal'
import { Socket } from '../src/link/socket.ts'

/** A client that sends what it wants. */
export class RawClient {
  readonly socket: Socket
  #lastId = 0

  constructor(path: string) {
    this.socket = new Socket(connectTo(path))
  }

  /** Sends a message with fields of its header and body as they are. */
  send(
    operation: number,
    body: unknown,
    descriptors: readonly number[] = [],
    fields: Partial<HeaderFields> = {},
  ): void {
    const bytes = body instanceof Uint8Array ? body : encodeBody(body)
    this.socket.sent.bytes.set(bytes, HEADER_SIZE)
    const length = HEADER_SIZE + bytes.length
    writeHeader(this.socket.sent.view, length, {
      operation,
      id: ++this.#lastId,
      descriptors: descriptors.length,
      ...fields,
    })
    this.socket.send(length, descriptors, 1000)
  }

  /** The next answer. @throws {PeerGone} */
  receive(): { header: FrameHeader; body: Reader } {
    if (this.socket.receive(10_000) === undefined) throw new Error('no answer came')
    const header = readHeader(this.socket.received.view)
    return { header, body: decodeBody(this.socket.received.bytes.subarray(HEADER_SIZE, header.length)) }
  }

  call(operation: number, body: unknown, descriptors: readonly number[] = []): { header: FrameHeader; body: Reader } {
    this.send(operation, body, descriptors)
    return this.receive()
  }

  hello(): void {
    const [mine, theirs] = socketPair('stream')
    this.call(operations.HELLO, {}, [theirs])
    closeDescriptor(mine)
    closeDescriptor(theirs)
  }

  close(): void {
    this.socket.close()
  }
}
