import type * as nodeFs from 'node:fs'
import { ArgumentError, UnsupportedError } from '@tenon/core/errors'
import { ModelNotFoundError } from '../errors.ts'
import type { ReadInput } from './read-input.ts'

/** Where POSIX shared memory has its files on Linux. */
const FOLDER = '/dev/shm'

/** Smaller inputs are sent in the body, which is as fast. */
const SMALLEST = 256 * 1024

/** Kernels want their operands at such addresses. */
const ALIGNMENT = 64

/** A file of shared memory that the server knows, for one request at a time. */
interface Slot {
  /** The name of the region. */
  readonly name: string
  /** The name of the file, without its folder. */
  readonly key: string
  readonly descriptor: number
  readonly byteSize: number
}

/** The requests that register and unregister regions on the server. */
export interface Registrar {
  register(slot: { readonly name: string; readonly key: string; readonly byteSize: number }): Promise<unknown>
  unregister(name: string): Promise<unknown>
}

/** The inputs of one request, some of which are in shared memory. */
export interface PlacedInputs {
  readonly inputs: readonly ReadInput[]
  /** Lets another request use the memory. Called once. */
  release(): void
  /** Removes the memory, which the server does not know any more. Called instead. */
  forget(): void
}

/** Passes large inputs in shared memory to a server of the same machine, which reads them with one copy. */
export class SharedInputs {
  readonly #fs: typeof nodeFs
  readonly #prefix: string
  readonly #registrar: Registrar
  readonly #free: Slot[] = []
  readonly #all = new Set<Slot>()
  readonly #removeAll = (): void => {
    for (const slot of this.#all) this.#remove(slot)
  }

  private constructor(fs: typeof nodeFs, prefix: string, registrar: Registrar) {
    this.#fs = fs
    this.#prefix = prefix
    this.#registrar = registrar
    process.on('exit', this.#removeAll)
  }

  /**
   * @param url of the server, which must be on this machine. @param prefix the start of names that the server allows.
   * @throws {ArgumentError} if the server runs on another machine, or the prefix is not a valid name. @throws {UnsupportedError} outside of Linux.
   */
  static open(url: string, prefix: unknown, registrar: Registrar): SharedInputs {
    if (typeof prefix !== 'string' || !/^[\w.-]{1,200}$/.test(prefix)) {
      throw new ArgumentError('sharedMemory must be 1 to 200 letters, digits, dots, hyphens and underscores', {
        hint: 'Pass the prefix that the server got as allowClientSharedMemory, or with --allow-client-shm.',
      })
    }
    const { hostname } = new URL(url)
    if (!['localhost', '[::1]'].includes(hostname) && !hostname.startsWith('127.')) {
      throw new ArgumentError(`sharedMemory must be for a server of this machine, got the host ${hostname}`)
    }
    const { process: own } = globalThis as { readonly process?: Partial<NodeJS.Process> }
    const fs = own?.platform === 'linux' ? own.getBuiltinModule?.('node:fs') : undefined
    if (fs === undefined) throw new UnsupportedError('sharedMemory needs Node.js on Linux')
    return new SharedInputs(fs, prefix, registrar)
  }

  /** Copies large inputs to shared memory. @throws (rejects with) the error of the server if it does not allow the memory. */
  async place(inputs: readonly ReadInput[]): Promise<PlacedInputs | undefined> {
    let byteSize = 0
    const offsets = inputs.map(({ bytes }) => {
      if (bytes.length < SMALLEST) return undefined
      const offset = byteSize
      byteSize += Math.ceil(bytes.length / ALIGNMENT) * ALIGNMENT
      return offset
    })
    if (byteSize === 0) return undefined
    const slot = await this.#take(byteSize)
    const placed = inputs.map((input, i) => {
      const offset = offsets[i]
      if (offset === undefined) return input
      this.#write(slot, input.bytes, offset)
      return { ...input, region: { name: slot.name, offset } }
    })
    return {
      inputs: placed,
      release: () => void this.#free.push(slot),
      forget: () => this.#remove(slot),
    }
  }

  /** Removes all memory. No request may use it. */
  async closeAsync(): Promise<void> {
    process.off('exit', this.#removeAll)
    const names = Array.from(this.#all, ({ name }) => name)
    this.#removeAll()
    // A server that is gone has forgotten them.
    await Promise.allSettled(names.map((name) => this.#registrar.unregister(name)))
  }

  /** A slot that is large enough: one that is free, or a new one. */
  async #take(byteSize: number): Promise<Slot> {
    const found = this.#free.findIndex((slot) => slot.byteSize >= byteSize)
    if (found !== -1) return this.#free.splice(found, 1)[0]!
    const slot = this.#create(2 ** Math.ceil(Math.log2(byteSize)))
    try {
      await this.#registrar.register(slot)
      return slot
    } catch (error) {
      this.#remove(slot)
      throw error
    }
  }

  #create(byteSize: number): Slot {
    const name = `client-${process.pid}-${crypto.randomUUID()}`
    const key = `${this.#prefix}${name}`
    const descriptor = this.#fs.openSync(`${FOLDER}/${key}`, 'wx+', 0o600)
    const slot = { name, key, descriptor, byteSize }
    this.#all.add(slot)
    try {
      this.#fs.ftruncateSync(descriptor, byteSize)
      return slot
    } catch (error) {
      this.#remove(slot)
      throw error
    }
  }

  #write({ descriptor }: Slot, bytes: Uint8Array, offset: number): void {
    for (let at = 0; at < bytes.length;) {
      at += this.#fs.writeSync(descriptor, bytes, at, bytes.length - at, offset + at)
    }
  }

  #remove(slot: Slot): void {
    if (!this.#all.delete(slot)) return
    const free = this.#free.indexOf(slot)
    if (free !== -1) this.#free.splice(free, 1)
    this.#fs.closeSync(slot.descriptor)
    this.#fs.rmSync(`${FOLDER}/${slot.key}`, { force: true })
  }
}

/** Exchanges a request with large inputs in shared memory, and once more if the server has lost its regions. */
export async function exchangeShared<Answer>(
  shared: SharedInputs,
  inputs: readonly ReadInput[],
  exchange: (inputs: readonly ReadInput[]) => Promise<Answer>,
): Promise<Answer> {
  for (let isFirst = true; ; isFirst = false) {
    const placed = await shared.place(inputs)
    if (placed === undefined) return exchange(inputs)
    try {
      const answer = await exchange(placed.inputs)
      placed.release()
      return answer
    } catch (error) {
      const isLost = error instanceof ModelNotFoundError
      if (isLost) placed.forget()
      else placed.release()
      if (!isLost || !isFirst) throw error
    }
  }
}
