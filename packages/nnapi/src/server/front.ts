import { pollReadable, type ReadableWatch } from '@tenon/core/internal'
import { Backoff } from '@tenon/isolate/internal'
import { errorStatus, PoolsError } from '@tenon/pools'
import { discardAttachment } from '../link/link.ts'
import { PollSet } from '../link/poll-set.ts'
import { acceptFrom, peerUser, closeDescriptor, createSharedMemory, openMapping } from '@tenon/pools/internal'
import { Socket } from '../link/socket.ts'
import { writeBody } from '../wire/body.ts'
import { type FrameHeader, operations, readHeader, writeHeader } from '../wire/frame.ts'
import { errorMessage } from '../wire/model-codec.ts'
import { Budget } from './budget.ts'
import { type ExecutorEnd, ExecutorProcess } from './executor-process.ts'
import type { DriverTotals } from './totals.ts'
import { TurnWords, WORDS_SIZE } from './turn-words.ts'
import { Watchdog } from './watchdog.ts'

/** The time for a client to say HELLO, in milliseconds. */
const HELLO_TIME = 2000
/** The most connections that have not said HELLO. */
const SILENT = 32
/** The longest pause before an executor is started again, in milliseconds. */
const LONGEST_PAUSE = 5000
/** The ends of executors in a row, before they served, after which the front gives up. */
const FALSE_STARTS = 5

/** One of the executors, and its clients. */
interface Place {
  readonly index: number
  /** Undefined between an end and the next start. */
  executor: ExecutorProcess | undefined
  /** The descriptors of its clients by their numbers. */
  readonly clients: Map<number, number>
  readonly backoff: Backoff
}

/**
 * The process at a path to which clients connect. It gives each client to one of its executors, watches their deadlines, and starts
 * those again that end. It never runs a kernel, and therefore never blocks.
 */
export class Front {
  readonly #path: string
  readonly #listener: number
  readonly #totals: DriverTotals
  readonly #places: readonly Place[]
  readonly #watchdog = new Watchdog()
  readonly #set = new PollSet()
  readonly #watches: readonly ReadableWatch[]
  readonly #memory: number
  readonly #words: ArrayBufferLike
  /** Connections that have not said HELLO, oldest first, with the timers that end them. */
  readonly #silent = new Map<number, NodeJS.Timeout>()
  /** The place and the number of each client by its descriptor. */
  readonly #clients = new Map<number, { readonly place: Place; readonly number: number }>()
  #lastClient = 0

  /** Takes the listener over. */
  constructor(path: string, listener: number, executors: number, totals: DriverTotals) {
    this.#path = path
    this.#listener = listener
    this.#totals = totals
    this.#memory = createSharedMemory(WORDS_SIZE, 'turns')
    // Where the runtime forbids views, deadlines are not enforced during a turn.
    const { buffer } = openMapping(this.#memory, 0, WORDS_SIZE, { isShared: true, isGuarded: false })
    this.#words = buffer ?? new ArrayBuffer(WORDS_SIZE)
    this.#places = Array.from({ length: executors }, (_, index) => ({
      index,
      executor: undefined,
      clients: new Map<number, number>(),
      backoff: new Backoff(LONGEST_PAUSE),
    }))
    for (const place of this.#places) this.#start(place)
    this.#watches = [
      pollReadable(listener, () => this.#accept()),
      pollReadable(this.#set.descriptor, () => this.#look()),
    ]
    for (const watch of this.#watches) watch.ref()
  }

  #start(place: Place): void {
    const identity = JSON.stringify([this.#path, place.index, this.#places.length])
    const words = new TurnWords(this.#words, place.index)
    const executor = new ExecutorProcess(
      identity,
      words,
      this.#memory,
      () => this.#watchdog.watch(executor),
      (end) => this.#ended(place, executor, end),
    )
    place.executor = executor
  }

  /** Starts an executor again that has ended: at once the first time, then after longer and longer pauses. */
  #ended(place: Place, { isReady }: ExecutorProcess, end: ExecutorEnd): void {
    this.#watchdog.forget(place.executor!)
    place.executor = undefined
    new Budget(TurnWords.sums(this.#words, this.#places.length), place.index, this.#totals).clear()
    const error = crashOf(end)
    for (const descriptor of [...place.clients.values()]) this.#drop(descriptor, error)
    if (isReady) place.backoff.clear()
    const pause = place.backoff.add()
    if (place.backoff.crashes > FALSE_STARTS)
      throw new PoolsError('DEVICE_UNAVAILABLE', `the driver at ${this.#path} cannot serve: ${error.sentence}`)
    // Its clients may be back before the event loop runs a timer of 0 ms.
    if (pause === 0) this.#start(place)
    else setTimeout(() => this.#start(place), pause)
  }

  #accept(): void {
    for (let left = SILENT; left > 0; left--) {
      const descriptor = acceptFrom(this.#listener)
      if (descriptor === undefined) return
      if (peerUser(descriptor) !== process.getuid!()) {
        closeDescriptor(descriptor)
        continue
      }
      const room = Math.min(SILENT, this.#totals.descriptors - this.#clients.size)
      while (this.#silent.size >= Math.max(room, 1)) this.#forget(this.#silent.keys().next().value!)
      this.#silent.set(
        descriptor,
        setTimeout(() => this.#forget(descriptor), HELLO_TIME),
      )
      this.#set.add(descriptor)
    }
  }

  /** Ends a connection that has not said HELLO. */
  #forget(descriptor: number): void {
    this.#leaveSilence(descriptor)
    closeDescriptor(descriptor)
  }

  #leaveSilence(descriptor: number): void {
    clearTimeout(this.#silent.get(descriptor))
    this.#silent.delete(descriptor)
    this.#set.remove(descriptor)
  }

  /** Handles connections whose first message has arrived, and clients that have left. */
  #look(): void {
    for (const descriptor of this.#set.wait(0)) {
      const client = this.#clients.get(descriptor)
      if (client !== undefined) {
        const { place, number } = client
        if (place.executor !== undefined) this.#watchdog.leave(place.executor, number)
        this.#drop(descriptor)
      } else if (this.#silent.has(descriptor)) {
        this.#leaveSilence(descriptor)
        this.#adopt(descriptor)
      }
    }
  }

  /** Gives a client to the executor with the fewest clients. */
  #adopt(descriptor: number): void {
    const running = this.#places.filter(({ executor }) => executor !== undefined)
    const order = running.toSorted((a, b) => a.clients.size - b.clients.size || Number(isBusy(a)) - Number(isBusy(b)))
    const hasRoom = this.#clients.size < this.#totals.clients
    for (const place of hasRoom ? order : []) {
      const number = (this.#lastClient = (this.#lastClient + 1) | 0 || 1)
      try {
        place.executor!.adopt(number, descriptor)
      } catch {
        // It has just ended, or has not yet come to take those before.
        continue
      }
      place.clients.set(number, descriptor)
      this.#clients.set(descriptor, { place, number })
      this.#set.add(descriptor, false)
      return
    }
    const what = hasRoom
      ? 'the executors of this driver are not ready'
      : `this driver has ${this.#clients.size} clients`
    refuse(descriptor, new PoolsError('RESOURCE_EXHAUSTED_TRANSIENT', `${what}: try again later`))
  }

  /** Forgets a client, and reports the end of its executor to it. */
  #drop(descriptor: number, error?: PoolsError): void {
    const { place, number } = this.#clients.get(descriptor)!
    this.#clients.delete(descriptor)
    place.clients.delete(number)
    this.#set.remove(descriptor)
    if (error === undefined) closeDescriptor(descriptor)
    else leave(descriptor, error, () => ({ operation: operations.HELLO, id: 0 }))
  }
}

function isBusy({ executor }: Place): boolean {
  return executor?.words.isRunning === true
}

function crashOf({ exitCode, signal, reason }: ExecutorEnd): PoolsError {
  const how = signal === null ? `exit code ${exitCode}` : signal
  const sentence = `the process of the driver ended (${how})${reason === undefined ? '' : `: ${reason}`}`
  return new PoolsError('DEAD_OBJECT', sentence, { details: { exitCode, signal, reason } })
}

/** Answers the first message of a connection with an error, and ends the connection. */
function refuse(descriptor: number, error: PoolsError): void {
  leave(descriptor, error, (socket) => {
    socket.receive(0)?.forEach(discardAttachment)
    return readHeader(socket.received.view)
  })
}

/** Sends an error as the answer to a message, and ends the connection. */
function leave(
  descriptor: number,
  error: PoolsError,
  messageOf: (socket: Socket) => Pick<FrameHeader, 'operation' | 'id'>,
): void {
  const socket = new Socket(descriptor)
  try {
    const { operation, id } = messageOf(socket)
    const length = writeBody(socket.sent.bytes, errorMessage(error))
    writeHeader(socket.sent.view, length, { operation, id, isReply: true, status: errorStatus[error.status] })
    socket.send(length, [], 0)
  } catch {
    // The client has left, does not read, or has sent no message.
  }
  socket.shut()
}
