import { addressOf, bufferOver, CONSTANTS } from '@tenon/core/internal'
import { MemoryError } from '../errors/error-kinds.ts'
import { openStack, type Stack } from './stack.ts'

/*
 * The references to native objects that this thread owns, by places in memory of native code, which releases them at the end of
 * the thread. A free place has the negative number of the next one, so that taking a place is a load and a store.
 */

const { TN_PACKED_PLACES: COUNT, TN_PACKED_PLACES_SHIFT: SHIFT } = CONSTANTS
const MASK = COUNT - 1

/** All places, and the addresses of their memory. The place 0 is never taken. */
const places: Float64Array[] = []
const addresses: number[] = []

/** The first free place, or 0 if all are taken. */
let free = 0

/** Takes a reference over, and returns its place. @throws {MemoryError} if memory is exhausted; the reference is released then. */
export function own(address: number): number {
  if (free === 0) addPlaces(address)
  const place = free
  const values = places[place >> SHIFT]!
  free = -values[place & MASK]! | 0
  values[place & MASK] = address
  return place
}

/** The address at a place, or 0 if the reference was released. */
export const ownedAddress = (place: number): number => places[place >> SHIFT]![place & MASK]!

/** Gives the reference of a place to the caller. */
export function disown(place: number): void {
  places[place >> SHIFT]![place & MASK] = -free
  free = place
}

/** Releases the reference of a place. A place whose release has not begun, because the stack is full, keeps it. */
export function releaseOwned(place: number): void {
  const stack = openStack()
  const at = addresses[place >> SHIFT]! + (place & MASK) * 8
  stack.cleanUp(() => stack.entered.tn_packed_release_place(at))
  if (places[place >> SHIFT]![place & MASK] === 0) disown(place)
}

interface Places {
  readonly at: number
  readonly values: Float64Array
}

function nativePlaces({ host, address }: Stack): Places {
  const out = new BigUint64Array(1)
  if (host.tn_packed_add_places(address, addressOf(out)) !== 0) throw noMemory()
  const at = Number(out[0])
  return { at, values: new Float64Array(bufferOver(at, COUNT * 8)) }
}

/** Native code uses an array of JavaScript, which {@link places} keeps. */
function ownPlaces({ host, address }: Stack): Places {
  const values = new Float64Array(new ArrayBuffer(COUNT * 8))
  const at = addressOf(values)
  if (host.tn_packed_add_places_in(address, at) !== 0) throw noMemory()
  return { at, values }
}

const noMemory = (): MemoryError => new MemoryError('out of memory for the references of native objects')

function addPlaces(address: number): void {
  const stack = openStack()
  try {
    const { at, values } = stack.isOwn ? ownPlaces(stack) : nativePlaces(stack)
    const first = places.length * COUNT
    for (let i = 0; i < COUNT - 1; i++) values[i] = -(first + i + 1)
    places.push(values)
    addresses.push(at)
    free = first === 0 ? 1 : first
  } catch (error) {
    stack.release(address)
    throw error
  }
}
