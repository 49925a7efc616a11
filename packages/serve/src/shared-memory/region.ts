import { closeSync, constants, fstatSync, openSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { InvalidRequestError } from '../errors.ts'

/** Where POSIX shared memory has its files on Linux. */
const FOLDER = '/dev/shm'

/** The part of a shared memory object that a client registered. */
export interface Registration {
  readonly name: string
  /** The name of the object, with or without a slash before it. */
  readonly key: string
  /** In bytes from the start of the object. */
  readonly offset: number
  readonly byteSize: number
}

/**
 * A registered part of a client's shared memory. It is read and written with system calls and never mapped: the client can shorten the
 * object at any time, and a mapping would then end the server with SIGBUS. Whatever was read cannot be changed by the client any more.
 */
export class Region {
  readonly registration: Registration
  readonly #descriptor: number
  /** The registration itself, and the requests that use the region. */
  #users = 1

  /** @throws {InvalidRequestError} if there is no such object, it belongs to another user, or it is too small. */
  constructor(registration: Registration) {
    const { name, key, offset, byteSize } = registration
    this.registration = registration
    const descriptor = open(name, key)
    try {
      const { size, uid } = statOf(descriptor, name)
      if (uid !== process.geteuid!()) throw refused(name, 'must belong to the user of the server')
      if (offset + byteSize > size) throw refused(name, `must have ${offset + byteSize} bytes, got ${size}`)
    } catch (error) {
      closeSync(descriptor)
      throw error
    }
    this.#descriptor = descriptor
  }

  /** Counts a request, which calls {@link release} once. */
  acquire(): this {
    this.#users++
    return this
  }

  /** The descriptor is closed with the last user. */
  release(): void {
    if (--this.#users === 0) closeSync(this.#descriptor)
  }

  /**
   * Copies bytes of the region.
   *
   * @param offset in bytes from the start of the region. The caller has checked the range.
   * @throws {InvalidRequestError} if the object has become shorter.
   */
  readInto(place: Uint8Array, offset: number): void {
    const start = this.registration.offset + offset
    for (let at = 0; at < place.length;) {
      const count = readSync(this.#descriptor, place, at, place.length - at, start + at)
      if (count === 0) throw this.#shortened()
      at += count
    }
  }

  /** Copies bytes to the region, and does not make the object longer. @throws {InvalidRequestError} if it has become shorter. */
  write(bytes: Uint8Array, offset: number): void {
    const start = this.registration.offset + offset
    if (start + bytes.length > fstatSync(this.#descriptor).size) throw this.#shortened()
    for (let at = 0; at < bytes.length;) at += writeSync(this.#descriptor, bytes, at, bytes.length - at, start + at)
  }

  #shortened(): InvalidRequestError {
    return refused(this.registration.name, 'must stay as large as it was registered')
  }
}

function open(name: string, key: string): number {
  try {
    const flags = constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK
    return openSync(join(FOLDER, key.replace(/^\//, '')), flags)
  } catch (cause) {
    throw new InvalidRequestError(`the region ${name} must have the key of shared memory that the server may open`, {
      cause,
    })
  }
}

function statOf(descriptor: number, name: string): { readonly size: number; readonly uid: number } {
  const stat = fstatSync(descriptor)
  if (stat.isFile()) return stat
  throw refused(name, 'must be shared memory')
}

const refused = (name: string, rule: string): InvalidRequestError =>
  new InvalidRequestError(`the region ${name} ${rule}`)
