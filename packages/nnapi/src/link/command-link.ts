import { addressOf, CONSTANTS } from '@tenon/core/internal'
import { CommandMemory, WorkerProcess } from '@tenon/isolate/internal'
import { type Attachment, check, createSharedMemory, out, outAddress, platform, sharing } from '@tenon/pools/internal'
import { HEADER_ID, operations, readHeader, readU64 } from '../wire/frame.ts'
import { PeerGone } from './link.ts'
import { NO_DESCRIPTORS, Socket } from './socket.ts'

const { TN_HOST_AWAITED: AWAITED, TN_HOST_POSTED: POSTED, TN_HOST_FREE: FREE } = CONSTANTS
const { TN_HOST_SLOTS: SLOTS, TN_HOST_BODY_SIZE: BODY_SIZE, TN_HOST_RUN: RUN } = CONSTANTS

/** How long a driver awaits a request in command memory before it waits for its socket, in nanoseconds. */
const BRIEF = 50e6

/** Whether a driver and the process that has started it can share command memory. */
const hasCommandMemory = (): boolean => process.platform === 'linux' && platform.hasViews()

/**
 * One end of the channel between a driver and the process that has started it: a socket, and command memory as that of a worker.
 *
 * After a blocking call, a driver that has nothing to do awaits a request in the next slot, for a short time. Only then the client may post
 * it: with a message, or without a body for a message that is on the socket. An answer without a body is on the socket as well. All other
 * messages use the socket alone. A posted message is therefore later than all those that are on the socket, except notes, which the client
 * lets no message overtake. Its answer is read by the call that has posted it.
 */
class CommandLink extends Socket {
  protected memory: CommandMemory | undefined
  /** The slot of the next request. */
  protected slot = 0
  readonly #check = sharing().tn_frame_check
  readonly #address = addressOf(this.received.bytes)

  protected useSlot(): number {
    const { slot } = this
    this.slot = (slot + 1) % SLOTS
    return slot
  }

  /** Copies the message of a slot to {@link received}, and checks it. Returns false if there is none. @throws {PoolsError} */
  protected read(slot: number): boolean {
    const length = this.memory!.copyBody(slot, this.received.bytes)
    if (length === 0) return false
    check(this.#check(this.#address, length, 0), 'reading a message')
    return true
  }
}

/** The end of the client. */
class ClientLink extends CommandLink {
  readonly #process: WorkerProcess
  /** Whether the last message on the socket was a note, which is not announced. */
  #hasNotes = false

  constructor(descriptor: number, process: WorkerProcess) {
    super(descriptor)
    this.#process = process
    this.memory = process.memory
  }

  override send(length: number, attachments: readonly Attachment[], timeout: number, isNote = false): void {
    super.send(length, attachments, timeout)
    this.#hasNotes = isNote
    if (!isNote && this.#post(0) !== -1) this.#process.post(false)
  }

  override call(length: number, timeout: number): readonly number[] | undefined {
    // The answer to a call that is given up arrives on the socket, and a call does not overtake notes.
    const mayPost = timeout < 0 && length <= BODY_SIZE && !this.#hasNotes
    const slot = mayPost ? this.#post(length) : -1
    if (slot === -1) return super.call(length, timeout)
    let result = this.#process.exchange(slot, Infinity)
    while (result === 'timed out') result = this.#process.wait(slot, Infinity)
    if (result === 'ended') throw new PeerGone('the driver has ended')
    return this.read(slot) ? NO_DESCRIPTORS : this.receive(-1)
  }

  override close(): void {
    if (this.descriptor !== -1) this.#process.close()
    super.close()
  }

  /** Posts the start of {@link sent} if the driver awaits it. @returns the slot, or -1 */
  #post(length: number): number {
    const { memory, slot } = this
    if (this.descriptor === -1 || memory!.state(slot) !== AWAITED) return -1
    memory!.writeRequest(slot, RUN, 0, 1, Infinity)
    memory!.writeBody(slot, this.sent.bytes.subarray(0, length))
    return memory!.changeState(slot, AWAITED, POSTED) ? this.useSlot() : -1
  }
}

/** Returns the descriptor of memory for a process that is about to start, or undefined where processes cannot share it. */
export function createCommandMemory(): number | undefined {
  return hasCommandMemory() ? createSharedMemory(CONSTANTS.TN_HOST_COMMAND_SIZE, 'command') : undefined
}

/** Takes over the end of a channel to a process that was started with the memory, which the caller keeps. */
export function joinDriver(descriptor: number, memory: number | undefined, process: number | undefined): Socket {
  if (memory === undefined || process === undefined) return new Socket(descriptor)
  if (sharing().tn_host_join(memory, process, outAddress()) !== 0) return new Socket(descriptor)
  return new ClientLink(descriptor, new WorkerProcess(Number(out.u64[0])))
}

/** The end of the driver. */
export class DriverLink extends CommandLink {
  readonly #take = sharing().tn_host_take
  #hasGreeted = false
  /** Whether the last message was a blocking call, which another one is likely to follow. */
  #hasBlocked = false
  /** Whether the next slot is awaited. */
  #isAwaiting = false
  /** The slot of a request that was not read yet, and of one that was not answered yet; -1 for none. */
  #posted = -1
  #asked = -1
  /** The id of the request that was not answered yet. */
  #id = 0

  override receive(timeout: number): readonly number[] | undefined {
    const mayAwait = this.memory !== undefined && (this.#isAwaiting || (timeout !== 0 && this.#hasBlocked))
    const earlier = mayAwait && this.#posted === -1 ? this.#await(timeout) : undefined
    if (earlier !== undefined) return earlier
    if (this.#posted !== -1) return this.#readPosted()
    const found = this.#receive(timeout)
    // The client has joined this process before its first message.
    if (!this.#hasGreeted && hasCommandMemory()) this.#attach()
    this.#hasGreeted = true
    return found
  }

  override send(length: number, attachments: readonly Attachment[], timeout: number): void {
    const isAsked = this.#asked !== -1 && readU64(this.sent.view, HEADER_ID) === this.#id
    const fits = isAsked && length <= BODY_SIZE
    if (!fits) super.send(length, attachments, timeout)
    if (!isAsked) return
    // The client, which waits for the answer, has sent nothing since its request. It may make the next call at once.
    this.#isAwaiting = true
    this.memory!.setState(this.slot, AWAITED)
    this.#answer(fits ? length : 0)
  }

  override close(): void {
    super.close()
    if (this.#isAwaiting) this.#await(0)
    if (this.#asked !== -1) this.#answer(0)
    this.#asked = this.#posted
    if (this.#asked !== -1) this.#answer(0)
    this.#posted = -1
  }

  /** Receives from the socket. */
  #receive(timeout: number): readonly number[] | undefined {
    const found = super.receive(timeout)
    if (found === undefined) return undefined
    const { operation, rings } = readHeader(this.received.view)
    this.#hasBlocked = operation === operations.EXECUTE && !rings
    return found
  }

  #attach(): void {
    // A process that was started otherwise has no command memory.
    if (sharing().tn_host_attach(outAddress()) === 0) this.memory = new CommandMemory(Number(out.u64[0]))
  }

  /** Awaits a request for a short time. @returns the attachments of a message that is on the socket, and was sent before the request */
  #await(timeout: number): readonly number[] | undefined {
    const { slot } = this
    const memory = this.memory!
    let earlier: readonly number[] | undefined
    if (!this.#isAwaiting) {
      memory.setState(slot, AWAITED)
      earlier = this.#receive(0)
    }
    this.#isAwaiting = false
    let status = this.#take(outAddress(), earlier === undefined && timeout !== 0 ? BRIEF : 0)
    if (status !== 0 && !memory.changeState(slot, AWAITED, FREE)) status = this.#take(outAddress(), 0)
    if (status === 0) this.#posted = this.useSlot()
    return earlier
  }

  #readPosted(): readonly number[] | undefined {
    this.#asked = this.#posted
    this.#posted = -1
    if (!this.read(this.#asked)) {
      this.#answer(0)
      return this.#receive(0)
    }
    this.#id = readU64(this.received.view, HEADER_ID)
    return NO_DESCRIPTORS
  }

  /** Answers with the start of {@link sent}, or without a body. */
  #answer(length: number): void {
    const slot = this.#asked
    this.#asked = -1
    this.memory!.writeBody(slot, this.sent.bytes.subarray(0, length))
    check(sharing().tn_host_answer(slot), 'answering')
  }
}
