import { linkSync, lstatSync, renameSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { addressOf, describe, keepAlive, ManagedLifetime, pollReadable, type ReadableWatch } from '@tenon/core/internal'
import { PoolsError } from '../error-status.ts'
import { acceptFrom, listenAt, peerUser } from './local-socket.ts'
import { sharing } from '../native/core.ts'
import { closeDescriptor } from './descriptor.ts'
import { checkMemoryName, memoryDirectory } from './memory-directory.ts'
import { isListening } from './foreign-channel.ts'
import type { NamedMessage } from './named-message.ts'
import { type OwnFile, ownFile, removeOwn } from './own-file.ts'

/** What is sent to a program that opens the memory. */
export interface ExportedMessages {
  readonly messages: readonly NamedMessage[]
  /** Those of all messages, in order. */
  readonly descriptors: readonly number[]
}

/** The options of {@link SharedMemory.export}. */
export interface ExportPlace {
  /** From 1 to 64 letters, digits, dots, dashes and underlines. */
  readonly name: string
  /** The directory of the socket, with the mode 0700; by default `tenon` in `$XDG_RUNTIME_DIR`. It is made if it does not exist. */
  readonly directory?: string | undefined
}

/** The most programs that are served before the event loop goes on. */
const TURN = 64

/**
 * A name under which programs of the same user open the memory. It keeps the event loop running until it is closed, or its memory
 * is. Made by {@link SharedMemory.export}.
 *
 * @example
 * using exported = await memory.export({ name: 'batch' })
 * exported.path.endsWith('/tenon/batch') // true
 */
export class MemoryExport extends ManagedLifetime {
  /** The path of the socket. */
  readonly path: string
  readonly #name: string
  readonly #describe: () => ExportedMessages
  readonly #listener: number
  readonly #watch: ReadableWatch
  readonly #socket: OwnFile

  /** @internal @param tell makes the messages for a program that has connected. */
  constructor({ name, directory }: ExportPlace, tell: () => ExportedMessages, whenClosed: () => void) {
    super()
    this.#name = checkMemoryName(name)
    this.#describe = tell
    const folder = memoryDirectory(directory, true)
    this.path = join(folder, this.#name)
    const listener = listenIn(folder, this.path)
    try {
      this.#socket = ownFile(this.path)
      this.#watch = pollReadable(listener, () => this.#serve())
    } catch (error) {
      closeDescriptor(listener)
      unlinkSync(this.path)
      throw error
    }
    this.#listener = listener
    this.#watch.ref()
    this.addCloseAction(whenClosed)
  }

  #serve(): void {
    for (let i = 0; i < TURN; i++) {
      const channel = acceptFrom(this.#listener)
      if (channel === undefined) return
      try {
        if (peerUser(channel) === process.getuid!()) sendAll(channel, this.#describe())
      } catch {
        // The memory has too many chunks now. The program notices that nothing comes.
      } finally {
        closeDescriptor(channel)
      }
    }
  }

  protected override get label(): string {
    return `the export ${describe(this.#name)}`
  }

  protected override release(): void {
    this.#watch.close()
    removeOwn(this.#socket)
    closeDescriptor(this.#listener)
  }

  override toString(): string {
    return `MemoryExport ${describe(this.#name)} (${this.isAlive ? this.path : 'closed'})`
  }
}

/** Sends all messages, or stops at a program that has disconnected or does not read. Nothing waits for it. */
function sendAll(channel: number, { messages, descriptors }: ExportedMessages): void {
  let sent = 0
  for (const { bytes, descriptors: count } of messages) {
    const list = Int32Array.from(descriptors.slice(sent, sent + count))
    sent += count
    const [at, memory] = [list.length === 0 ? 0 : addressOf(list), addressOf(bytes)]
    const code = sharing().tn_channel_send(channel, memory, bytes.length, at, list.length, 0)
    keepAlive(list)
    keepAlive(bytes)
    if (code !== 0) return
  }
}

/**
 * Listens at a path of the file system. The socket is bound to another name and linked to the path, so that nobody finds one that
 * does not listen yet. A socket that a crashed program has left is replaced.
 *
 * @throws {PoolsError} if another program has the name.
 */
function listenIn(folder: string, path: string): number {
  // Random, because other threads, and processes with the same number in other namespaces, use the folder too.
  const made = join(folder, `.${Buffer.from(crypto.getRandomValues(new Uint8Array(8))).toString('base64url')}`)
  const listener = listenAt(made)
  try {
    for (let i = 0; i < TRIES; i++) {
      try {
        linkSync(made, path)
        return listener
      } catch (cause) {
        if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause
      }
      removeStale(path, `${made}-old`)
    }
    throw nameTaken(path)
  } catch (error) {
    closeDescriptor(listener)
    throw error
  } finally {
    unlinkSync(made)
  }
}

const TRIES = 5

/** Removes a socket at which nobody listens. @throws {PoolsError} if somebody does, or it is not a socket. */
function removeStale(path: string, aside: string): void {
  try {
    if (!lstatSync(path).isSocket() || isListening(path)) throw nameTaken(path)
    renameSync(path, aside)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  // Another program may have replaced the socket meanwhile: it gets its name back.
  const isTaken = isListening(aside)
  if (isTaken) linkSync(aside, path)
  unlinkSync(aside)
  if (isTaken) throw nameTaken(path)
}

const nameTaken = (path: string): PoolsError =>
  new PoolsError('DEVICE_UNAVAILABLE', `the name of the memory is in use: ${path}`, {
    hint: 'Choose another name, or close the memory that has it.',
  })
