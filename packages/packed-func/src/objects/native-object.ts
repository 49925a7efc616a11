import { ScopeClosedError } from '@tenon/core'
import { pointerBits } from '@tenon/core/internal'
import { drainReleased } from '../native/foreign.ts'
import { openStack, PENDING, type Stack } from '../native/stack.ts'
import { tagOf } from '../native/type-index.ts'

const collected = new FinalizationRegistry<number>((address) => {
  live--
  release(openStack(), address)
})

/** References to be given back once no call is in progress: a call may be using the object. */
const waiting: number[] = []

/** Gives a reference back: at once, or after the outermost call. */
export function release(stack: Stack, address: number): void {
  if (stack.top === 0) {
    stack.host.release(address)
    if (stack.head[PENDING] !== 0) catchUp(stack)
    return
  }
  waiting.push(address)
  stack.head[PENDING] = 1
}

/** After the outermost call, if the flag says so: gives back what was disposed of, and hears of what native code gave back. */
export function catchUp(stack: Stack): void {
  stack.head[PENDING] = 0
  while (waiting.length > 0) stack.host.release(waiting.pop()!)
  drainReleased(stack)
}

let live = 0

/** How many native objects this thread holds: for tests of leaks. */
export const heldObjects = (): number => live

/**
 * An object of native code, held by one reference. The garbage collector gives it back, or `dispose` does at once.
 */
export class NativeObject {
  static {
    // What console.log asks for.
    Object.defineProperty(this.prototype, Symbol.for('nodejs.util.inspect.custom'), { value: this.prototype.toString })
  }

  /** @internal the object's address, 0 after it was given back */
  handle: number
  /** @internal the address as the bits of a float64: one store writes it */
  readonly pointer: number
  /** @internal the first half of a slot that holds the object */
  readonly tag: number
  readonly typeIndex: number

  /** @internal takes over a reference */
  constructor(typeIndex: number, handle: number) {
    this.typeIndex = typeIndex
    this.handle = handle
    this.pointer = pointerBits(handle)
    this.tag = tagOf(typeIndex)
    live++
    collected.register(this, handle, this)
  }

  /** Whether it can still be used. */
  get isAlive(): boolean {
    return this.handle !== 0
  }

  /** The name of the object's type: `ffi.Function`. @throws {ScopeClosedError} after `dispose`. */
  get typeKey(): string {
    this.checkAlive()
    return typeKeyOf(this.typeIndex)
  }

  /** Its type, for people: `[ffi.Array]`. */
  toString(): string {
    return this.isAlive ? `[${this.typeKey}]` : `[${typeKeyOf(this.typeIndex)}, disposed of]`
  }

  /** @internal the address, for calls */
  checkAlive(): number {
    if (this.handle !== 0) return this.handle
    throw new ScopeClosedError('the native object is disposed of already', {
      hint: 'use it before it is disposed of, or keep another reference.',
    })
  }

  /** Gives the reference back. Native code may still hold the object. Idempotent. */
  dispose(): void {
    if (this.handle === 0) return
    const handle = this.handle
    this.handle = 0
    live--
    collected.unregister(this)
    release(openStack(), handle)
  }

  /** @internal takes the reference away, for a value that native code moves out */
  surrender(): number {
    const handle = this.checkAlive()
    this.handle = 0
    live--
    collected.unregister(this)
    return handle
  }

  /** @internal takes back what was surrendered, and not taken */
  restore(handle: number): void {
    this.handle = handle
    live++
    collected.register(this, handle, this)
  }

  [Symbol.dispose](): void {
    this.dispose()
  }
}

const typeKeys = new Map<number, string>()

/** The name of a type, which never changes. */
export function typeKeyOf(typeIndex: number): string {
  const known = typeKeys.get(typeIndex)
  if (known !== undefined) return known
  const stack = openStack()
  stack.host.typeKey(stack.address, typeIndex)
  const key = stack.copyOf(Number(stack.words[0]), Number(stack.words[1])).toString()
  typeKeys.set(typeIndex, key)
  return key
}
