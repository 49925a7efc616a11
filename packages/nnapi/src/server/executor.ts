import { PoolsError } from '@tenon/pools'
import { type Attachment, discardDescriptor } from '@tenon/pools/internal'
import { type Link, PeerGone } from '../link/link.ts'
import type { PollSet } from '../link/poll-set.ts'
import { Socket } from '../link/socket.ts'
import { exhausted } from '../engine/limits.ts'
import { readHeader } from '../wire/frame.ts'
import { Client, type ClientParts } from './client.ts'
import { ClientPools } from './client-pools.ts'
import { Conversation, type Turns } from './conversation.ts'
import type { Watch } from './fenced-runs.ts'
import { monotonicTime, type TurnWords } from './turn-words.ts'

/** The parts of an executor. */
export interface ExecutorParts extends ClientParts {
  readonly words: TurnWords
  /** The most requests of all its clients that may wait. */
  readonly requests: number
  /** Wakes the front, which then watches the words. */
  readonly wake: () => void
}

/** The time after which the turns of a client are forgotten, and an executor without clients gives memory back, in ms. */
const IDLE = 1000
/** The most time by which a client that had few turns comes before others, in milliseconds. */
const CREDIT = 100
/** The turns in which requests of each priority have one at least. */
const ROUND = 16
/** The most threads of a client besides the one that has connected. */
const THREADS = 16

/**
 * Runs the requests of its clients on this thread: one request of one client in each turn. The most urgent one comes first, and
 * then that of the client whose requests took least time so far.
 */
export class Executor implements Turns {
  readonly #parts: ExecutorParts
  readonly #set: PollSet | undefined
  /** The owner of each descriptor that is watched. */
  readonly #owners = new Map<number, Conversation>()
  readonly #conversations = new Set<Conversation>()
  readonly #ready = new Set<Conversation>()
  /** Conversations with executions that wait for fences. */
  readonly #waiting = new Set<Conversation>()
  #turns = 0
  /** The most time that a client had. A client that comes begins with it, so that it does not keep others waiting. */
  #floor = 0
  /** Whether the memory of the start, and of clients that have left, was given back. */
  #isTidy = false

  /** @param set watches descriptors; undefined between threads without sockets. */
  constructor(parts: ExecutorParts, set: PollSet | undefined) {
    this.#parts = parts
    this.#set = set
  }

  /** Serves one client until it leaves. */
  serveOne(link: Link): void {
    const only = this.#open(0, link)
    while (this.#conversations.has(only)) {
      const isIdle = this.#ready.size === 0
      // Fences and other threads of the client have descriptors of their own.
      if (only.hasFences || this.#conversations.size > 1) this.#listen()
      else this.#use(only, () => only.read(isIdle ? -1 : 0, isIdle))
      this.#runTurn()
    }
  }

  /** Serves the clients that come through a channel, until the front at its other end is gone. @throws {PeerGone} */
  serve(control: Socket): never {
    this.#set!.add(control.descriptor)
    for (;;) {
      if (this.#listen().includes(control.descriptor)) this.#adopt(control)
      this.#runTurn()
    }
  }

  close(): void {
    for (const conversation of [...this.#conversations]) this.#end(conversation)
    this.#set?.close()
  }

  run<T>(conversation: Conversation, timeLeft: number, run: () => T): T {
    const { words, limits, wake } = this.#parts
    const start = performance.now()
    words.begin(conversation.id, monotonicTime() + Math.min(timeLeft, limits.deadline))
    if (!words.isWatched) {
      words.isWatched = true
      wake()
    }
    try {
      return run()
    } catch (error) {
      if (!words.isCancelled) throw error
      throw new PoolsError('MISSED_DEADLINE_TRANSIENT', 'the deadline passed during the execution')
    } finally {
      words.end()
      const end = performance.now()
      const { client } = conversation
      client.time += end - start
      client.lastTurn = end
      this.#floor = Math.max(this.#floor, client.time)
    }
  }

  mayWait(): boolean {
    let sum = 0
    for (const { waiting } of this.#ready) sum += waiting
    return sum < this.#parts.requests
  }

  ready(conversation: Conversation): void {
    const { client } = conversation
    const isNew = performance.now() - client.lastTurn > IDLE
    client.time = isNew ? this.#floor : Math.max(client.time, this.#floor - CREDIT)
    this.#ready.add(conversation)
  }

  join(owner: Conversation, socket: Attachment): object {
    if (typeof socket !== 'number') throw new PoolsError('INVALID_ARGUMENT', 'a thread must join with a socket')
    let count = 0
    for (const other of this.#conversations) if (other.owner === owner) count++
    if (count < THREADS) {
      this.#add(owner.id, new Socket(socket), owner.client, owner)
      return {}
    }
    discardDescriptor(socket)
    throw exhausted(`${THREADS} threads besides the one that has connected`)
  }

  watchOf(conversation: Conversation): Watch {
    return {
      add: (descriptor) => {
        this.#set!.add(descriptor)
        this.#owners.set(descriptor, conversation)
        if (descriptor !== conversation.descriptor) this.#waiting.add(conversation)
      },
      remove: (descriptor) => {
        this.#owners.delete(descriptor)
        this.#set!.remove(descriptor)
      },
    }
  }

  /** Waits for messages and fences, unless requests wait, and reads them. @returns the descriptors that were ready */
  #listen(): readonly number[] {
    const isIdle = this.#ready.size === 0
    const found = this.#set!.wait(isIdle ? this.#timeLeft() : 0)
    if (found.length === 0 && this.#conversations.size === 0) this.#tidy()
    for (const descriptor of found) {
      const owner = this.#owners.get(descriptor)
      if (owner === undefined) continue
      const isAlone = isIdle && found.length === 1
      this.#use(owner, () => (descriptor === owner.descriptor ? owner.read(0, isAlone) : owner.stepFences()))
    }
    for (const conversation of this.#waiting) {
      if (!conversation.hasFences) this.#waiting.delete(conversation)
      else if (conversation.deadline <= performance.now()) this.#use(conversation, () => conversation.stepFences())
    }
    return found
  }

  /**
   * Gives the memory of JavaScript objects back, while nobody waits. V8 does so by itself only in an idle event loop, which an
   * executor does not use.
   */
  #tidy(): void {
    this.#isTidy = true
    globalThis.gc?.({ type: 'major', flavor: 'last-resort', execution: 'sync' })
  }

  /** Returns the time until an execution fails because of its fences, or memory is given back, in ms; -1 for any time. */
  #timeLeft(): number {
    if (this.#conversations.size === 0) return this.#isTidy ? -1 : IDLE
    let first = Infinity
    for (const { deadline } of this.#waiting) first = Math.min(first, deadline)
    return first === Infinity ? -1 : Math.max(first - performance.now(), 0)
  }

  #adopt(control: Socket): void {
    for (;;) {
      const attachments = control.receive(0)
      if (attachments === undefined) return
      this.#open(readHeader(control.received.view).id, new Socket(attachments[0]!))
    }
  }

  #open(id: number, link: Link): Conversation {
    const client = new Client(this.#parts)
    // Its first messages may run before it is ever ready.
    client.time = this.#floor
    return this.#add(id, link, client)
  }

  #add(id: number, link: Link, client: Client, owner?: Conversation): Conversation {
    const { limits, budget } = this.#parts
    const parts = { client, pools: new ClientPools(limits, budget), ...(owner === undefined ? {} : { owner }) }
    const conversation = new Conversation(id, link, parts, this)
    this.#conversations.add(conversation)
    return conversation
  }

  #runTurn(): void {
    const next = this.#pick()
    if (next === undefined) return
    this.#use(next, () => next.runNext())
    if (next.waiting === 0) this.#ready.delete(next)
  }

  /** Returns the client whose turn it is. In each round, requests that are not urgent have a turn too. */
  #pick(): Conversation | undefined {
    if (this.#ready.size === 0) return undefined
    const place = ++this.#turns % ROUND
    const most = place === 0 ? 0 : place === ROUND / 2 ? 1 : 2
    let best: Conversation | undefined
    let highest = -2
    for (const candidate of this.#ready) {
      if (candidate.waiting === 0) {
        this.#ready.delete(candidate)
        continue
      }
      const { priority, client } = candidate
      const rank = priority > most ? -1 : priority
      if (rank < highest || (rank === highest && client.time >= best!.client.time)) continue
      best = candidate
      highest = rank
    }
    return best
  }

  /** Uses a conversation. A client that has left, or breaks the protocol, is forgotten. */
  #use(conversation: Conversation, use: () => void): void {
    try {
      use()
    } catch (error) {
      this.#end(conversation)
      if (!(error instanceof PeerGone) && !(error instanceof PoolsError)) throw error
    }
  }

  #end(conversation: Conversation): void {
    this.#isTidy = false
    this.#conversations.delete(conversation)
    this.#ready.delete(conversation)
    this.#waiting.delete(conversation)
    // The models and buffers that its other threads use end with it.
    for (const other of [...this.#conversations]) if (other.owner === conversation) this.#end(other)
    conversation.close()
  }
}
