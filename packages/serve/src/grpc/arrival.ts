import { status } from '@grpc/grpc-js'
import type { ServerHttp2Stream } from 'node:http2'
import { ModelUnavailableError } from '../errors.ts'
import type { RunDeadlines, LimitedRun } from '../scheduler/run-deadlines.ts'
import { ByteShare } from '../service/byte-budget.ts'
import { Cancellation } from '../service/cancellation.ts'
import { describeFailure } from '../service/describe-failure.ts'
import type { ServerState } from '../service/server-state.ts'
import { statusOf } from './failure-code.ts'
import type { GrpcStream } from './grpc-stream.ts'

/** The share of a message that is arriving waits for nothing, so nothing cancels it. */
const NEVER = new Cancellation()

/** The bytes in front of a message: whether it is compressed, and its length. */
const HEAD = 5

/**
 * The message of one stream that is arriving. Counts its bytes, and ends the call if it takes too long, or never begins. grpc-js passes a message on
 * when all of it has arrived, and the only message of a call when the client has ended its side, so its HTTP/2 stream is watched.
 */
export class Arrival {
  readonly #call: GrpcStream
  readonly #stream: ServerHttp2Stream
  readonly #state: Pick<ServerState, 'budget'>
  readonly #deadlines: RunDeadlines
  readonly #share: ByteShare
  /** The bytes of the head that have arrived, and the length that they state. */
  #head = 0
  #length = 0
  /** The bytes of the message that have arrived, with its head. */
  #arrived = 0
  #run: LimitedRun | undefined
  readonly #hasOneMessage: boolean

  constructor(call: GrpcStream, state: Pick<ServerState, 'budget'>, deadlines: RunDeadlines) {
    this.#call = call
    this.#stream = call.stream
    this.#state = state
    this.#deadlines = deadlines
    this.#share = new ByteShare(state.budget, NEVER)
    this.#hasOneMessage = !call.isStream
  }

  /** Listens to the stream. Called once. */
  watch(): void {
    const stream = this.#stream
    stream.on('data', (chunk: Buffer) => this.#read(chunk))
    stream.on('close', () => {
      this.#close()
      this.#call.close()
    })
    if (this.#hasOneMessage) this.#limit()
  }

  #limit(): void {
    this.#run ??= this.#deadlines.add(() => this.#expire())
  }

  /** The client of a call with one message may have ended its side in time, and waits for its answer. */
  #expire(): void {
    if (!this.#hasOneMessage || !this.#stream.readableEnded) this.#fail(TOO_SLOW)
  }

  #stopLimit(): void {
    if (this.#run !== undefined) this.#deadlines.delete(this.#run)
    this.#run = undefined
  }

  #read(chunk: Buffer): void {
    for (let at = 0; at < chunk.length;) {
      if (this.#head < HEAD) {
        // The first byte says whether the message is compressed.
        this.#length = this.#head === 0 ? 0 : this.#length * 256 + chunk[at]!
        this.#head++
        this.#arrived++
        at++
      }
      const taken = this.#head < HEAD ? 0 : Math.min(this.#length + HEAD - this.#arrived, chunk.length - at)
      this.#arrived += taken
      at += taken
      if (this.#head === HEAD && this.#arrived === this.#length + HEAD) this.#end()
    }
    if (this.#arrived === 0 || this.#stream.closed) return
    this.#limit()
    if (!this.#share.tryReserve(this.#arrived)) this.#fail(statusOf(describeFailure(this.#state.budget.outOfMemory())))
  }

  /** The message is complete. */
  #end(): void {
    if (!this.#hasOneMessage) this.#stopLimit()
    this.#share.release()
    this.#head = this.#arrived = 0
  }

  #close(): void {
    this.#stopLimit()
    this.#end()
  }

  #fail(answer: ReturnType<typeof statusOf>): void {
    this.#close()
    this.#call.fail(new ModelUnavailableError(answer.details), answer)
  }
}

const TOO_SLOW = { code: status.DEADLINE_EXCEEDED, details: 'the request took too long' } as const
