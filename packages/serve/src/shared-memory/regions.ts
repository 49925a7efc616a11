import { UnsupportedError } from '@tenon/core'
import { InvalidRequestError } from '../errors.ts'
import { wrong } from '../protocol/wrong-field.ts'
import { Region, type Registration } from './region.ts'

/** The most regions of one server, each of which has a descriptor. */
const MOST_REGIONS = 1024

/** Objects of this project and of Triton's Python backend, which clients must not register. */
const OWN_PREFIXES = ['tenon-', 'triton_python_backend_shm_region_']

/** The regions that clients have registered, by name. */
export class Regions {
  /** The start of all keys, or undefined if the server shares no memory with its clients. */
  readonly #prefix: string | undefined
  readonly #regions = new Map<string, Region>()

  constructor(prefix: string | undefined) {
    this.#prefix = prefix
  }

  /** Whether clients may register regions. */
  get isAllowed(): boolean {
    return this.#prefix !== undefined
  }

  /**
   * Opens a client's shared memory.
   *
   * @param key, offset, byteSize as the client sent them.
   * @throws {UnsupportedError} if the server shares no memory. @throws {InvalidRequestError} for a value that is not allowed, for a name that
   * is registered, or for memory that cannot be opened.
   */
  register(name: string, key: unknown, offset: unknown, byteSize: unknown): void {
    const prefix = this.#required()
    const registration = { name: checkName(name), key: checkKey(key, prefix), ...checkRange(offset, byteSize) }
    if (this.#regions.has(name)) {
      throw new InvalidRequestError(`the region ${name} must be registered once`, { details: { kind: 'exists' } })
    }
    if (this.#regions.size >= MOST_REGIONS) {
      throw new InvalidRequestError(`a server must have at most ${MOST_REGIONS} regions`, {
        hint: 'Unregister others first.',
      })
    }
    this.#regions.set(name, new Region(registration))
  }

  /** Forgets a region, or all without a name. Requests that use it go on. A name that is not registered is ignored. */
  unregister(name?: string): void {
    this.#required()
    for (const [known, region] of name === undefined ? this.#regions : this.#regionsOf(name)) {
      this.#regions.delete(known)
      region.release()
    }
  }

  /** The registrations of one name, or all. @throws {InvalidRequestError} for an unknown name. */
  list(name?: string): readonly Registration[] {
    this.#required()
    if (name !== undefined && !this.#regions.has(name)) throw unknownRegion(name)
    const regions = name === undefined ? this.#regions : this.#regionsOf(name)
    return [...regions].map(([, { registration }]) => registration)
  }

  /** Takes a region for a request, which releases it. @throws {InvalidRequestError} for an unknown name. */
  acquire(name: string): Region {
    const region = this.#regions.get(name)
    if (region === undefined) throw unknownRegion(name)
    return region.acquire()
  }

  /** Closes the descriptors that no request uses. */
  close(): void {
    for (const region of this.#regions.values()) region.release()
    this.#regions.clear()
  }

  #regionsOf(name: string): [string, Region][] {
    const region = this.#regions.get(name)
    return region === undefined ? [] : [[name, region]]
  }

  #required(): string {
    if (this.#prefix !== undefined) return this.#prefix
    throw new UnsupportedError('this server shares no memory with its clients', {
      hint: 'Start it with --allow-client-shm and the prefix of your keys.',
    })
  }
}

/** The error for the name of a region that is not registered. */
export const unknownRegion = (name: string): InvalidRequestError =>
  new InvalidRequestError(`there is no region ${JSON.stringify(name.slice(0, 60))}`, {
    hint: 'Register it first.',
    details: { kind: 'not-found' },
  })

function checkName(name: string): string {
  if (name.length > 0 && name.length <= 255) return name
  throw new InvalidRequestError(`the name of a region must have 1 to 255 characters, got ${name.length}`)
}

function checkKey(key: unknown, prefix: string): string {
  if (typeof key !== 'string') throw wrong('key', 'a text', key)
  const [, object] = /^\/?([\w.-]{1,254})$/.exec(key) ?? []
  if (object === undefined || object === '.' || object === '..') {
    throw wrong('key', 'at most 254 letters, digits, dots, hyphens and underscores', key)
  }
  if (!object.startsWith(prefix)) throw wrong('key', `a name that starts with ${prefix}`, key)
  if (OWN_PREFIXES.some((own) => object.startsWith(own))) throw wrong('key', 'a name of the client', key)
  return key
}

function checkRange(offset: unknown, byteSize: unknown): { readonly offset: number; readonly byteSize: number } {
  if (!Number.isSafeInteger(offset) || (offset as number) < 0) throw wrong('offset', 'a whole number from 0', offset)
  if (!Number.isSafeInteger(byteSize) || (byteSize as number) < 1) {
    throw wrong('byte_size', 'a whole number above 0', byteSize)
  }
  if (Number.isSafeInteger((offset as number) + (byteSize as number))) {
    return { offset: offset as number, byteSize: byteSize as number }
  }
  throw wrong('offset', 'a number whose sum with byte_size is a safe integer', offset)
}

/** The prefix of keys, as an option gives it. @returns a sentence that says what is wrong, or undefined. */
export function problemOfPrefix(prefix: unknown): string | undefined {
  const isName = typeof prefix === 'string' && /^[\w.-]{1,200}$/.test(prefix)
  if (!isName) return 'must have 1 to 200 letters, digits, dots, hyphens and underscores'
  return OWN_PREFIXES.some((own) => own.startsWith(prefix) || prefix.startsWith(own))
    ? `must differ from ${OWN_PREFIXES.join(' and ')}`
    : undefined
}
