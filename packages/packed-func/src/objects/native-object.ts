import { ScopeClosedError } from '@tenon/core'
import { Cleaner, highWord, inspectAsText, lowWord, wrongType } from '@tenon/core/internal'
import { drainReleased } from '../native/foreign.ts'
import { openStack, PENDING, type Stack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'

const collected = new Cleaner<number>((address) => {
  live--
  release(openStack(), address)
})

/** References to release once no call is in progress, because a call may be using the objects. */
const waiting: number[] = []

/** Releases a reference: at once, or after the outermost call. */
export function release(stack: Stack, address: number): void {
  if (stack.top === 0) {
    stack.release(address)
    if (stack.head[PENDING] !== 0) catchUp(stack)
    return
  }
  waiting.push(address)
  stack.head[PENDING] = 1
}

/** Runs after the outermost call if the flag is set: releases what was closed meanwhile, and drains native code's releases. */
export function catchUp(stack: Stack): void {
  stack.head[PENDING] = 0
  while (waiting.length > 0) stack.release(waiting.pop()!)
  drainReleased(stack)
}

let live = 0

export const heldObjects = (): number => live

/** A base class whose constructor returns another object, such as a function, for the subclass to set up. */
// oxlint-disable-next-line typescript/no-extraneous-class
class Adopted {
  constructor(object: object | undefined) {
    if (object !== undefined) return object
  }
}

/** The engine's message is "Symbol(description) could not be cloned." */
const NOT_CLONEABLE = Symbol(
  'native objects cannot be posted to another thread: post copies of their values, or register functions with registerGlobal()',
)

/**
 * An object of native code, held by one reference. `close()` releases the reference; otherwise the garbage collector does.
 *
 * @example
 * const list = getGlobal('ffi.List')(1, 2) as NativeArray
 * String(list) // '[ffi.List]'
 * list.close()
 */
export class NativeObject extends Adopted {
  static {
    inspectAsText(this)
    // What only inherits from this class, such as a function that `Function.prototype.bind` made, is a closed object.
    Object.assign(this.prototype, { handle: 0, typeIndex: TypeIndex.Object })
  }

  /** @internal the object's address, 0 once the reference is released */
  handle: number
  /** @internal the low 32 bits of the address, as an int32 */
  readonly lo: number
  /** @internal the high 32 bits of the address, as an int32 */
  readonly hi: number
  readonly typeIndex: number
  /** @internal what structured clone meets. It could copy the other fields, but another thread would not own the reference. */
  readonly notCloneable?: symbol

  /** @internal takes over a reference. @param self the object to set up, by default a new one. */
  constructor(typeIndex: number, handle: number, self?: object) {
    super(self)
    // Functions cannot be cloned anyway.
    if (self === undefined) this.notCloneable = NOT_CLONEABLE
    if (typeof handle !== 'number') {
      throw wrongType(
        'handle',
        'that of a native object',
        handle,
        'Use packedFunc(), getGlobal() or Module.open(path).',
      )
    }
    this.typeIndex = typeIndex
    this.handle = handle
    this.lo = lowWord(handle)
    this.hi = highWord(handle)
    live++
    collected.watch(this, handle, this)
  }

  /** Whether the object can be used: false once it is closed or moved into native code. */
  get isAlive(): boolean {
    return this.handle !== 0
  }

  /** The name of the object's type, such as `ffi.Function`. @throws {ScopeClosedError} once closed. */
  get typeKey(): string {
    this.checkAlive()
    return typeKeyOf(this.typeIndex)
  }

  /** The type in brackets: `[ffi.Array]`, or `[ffi.Array, closed]`. */
  override toString(): string {
    return `[${typeKeyOf(this.typeIndex)}${this.isAlive ? '' : ', closed'}]`
  }

  /** @internal the address, for calls */
  checkAlive(): number {
    if (this.handle !== 0) return this.handle
    throw new ScopeClosedError('the native object is closed already', {
      hint: 'Use it before you close it or pass it as rvalue().',
      details: { expected: 'an open native object', received: String(this) },
    })
  }

  /** Releases the reference. Native code may still hold the object. @throws {ScopeClosedError} if it is closed already. */
  close(): void {
    release(openStack(), this.surrender())
  }

  /** As {@link close}, but does nothing if the object is closed already. */
  [Symbol.dispose](): void {
    if (this.handle !== 0) this.close()
  }

  /** @internal gives the reference to the caller, for a value that is moved into native code */
  surrender(): number {
    const handle = this.checkAlive()
    // What only inherits from an object, as `Object.create(object)` does, does not own its reference.
    if (!Object.hasOwn(this, 'handle')) throw wrongType('this', 'a native object itself', this)
    this.handle = 0
    live--
    collected.forget(this)
    return handle
  }

  /** @internal takes a reference back that was surrendered */
  restore(handle: number): void {
    this.handle = handle
    live++
    collected.watch(this, handle, this)
  }
}

type ObjectClass = new (typeIndex: number, handle: number) => NativeObject

/** The classes of objects by type index. Each class registers itself, so that the code that reads values imports none. */
const classes = new Map<number, ObjectClass>()

export function registerClass(constructor: ObjectClass, ...typeIndices: readonly number[]): void {
  for (const typeIndex of typeIndices) classes.set(typeIndex, constructor)
}

/** Makes the JavaScript object of a native one. Takes over a reference. */
export function wrapObject(typeIndex: number, handle: number): NativeObject {
  return new (classes.get(typeIndex) ?? NativeObject)(typeIndex, handle)
}

const typeKeys = new Map<number, string>()

export function typeKeyOf(typeIndex: number): string {
  let key = typeKeys.get(typeIndex)
  if (key === undefined) {
    const stack = openStack()
    stack.host.tn_packed_type_key(stack.address, typeIndex)
    key = stack.copyOfWords(0, 1).toString()
    typeKeys.set(typeIndex, key)
  }
  return key
}
