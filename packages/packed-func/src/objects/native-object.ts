import { ScopeClosedError } from '@tenon/core'
import { Cleaner, highWord, inspectAsText, lowWord, takeReleasedCallbacks, wrongType } from '@tenon/core/internal'
import { PackedFuncTypeError } from '../errors/error-kinds.ts'
import { drainReleased } from '../native/foreign.ts'
import { disown, own, releaseOwned } from '../native/owned.ts'
import { openStack, PENDING, type Stack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'

const collected = new Cleaner<number>((place) => {
  live--
  release(openStack(), place)
})

/** The places of references to release once no call is in progress, because a call may be using the objects. */
const waiting: number[] = []

/** Releases the reference of a place: at once, or after the outermost call. */
export function release(stack: Stack, place: number): void {
  waiting.push(place)
  if (stack.top !== 0) stack.head[PENDING] = 1
  else {
    releaseWaiting(stack)
    if (stack.head[PENDING] !== 0) catchUp(stack)
  }
}

/** Releases what waits. If the stack of JavaScript is full, what is left waits until after the next outermost call. */
function releaseWaiting(stack: Stack): void {
  while (waiting.length > 0) {
    const place = waiting.pop()!
    try {
      releaseOwned(place)
    } catch (error) {
      waiting[waiting.length] = place
      stack.head[PENDING] = 1
      throw error
    }
  }
}

/**
 * Runs after the outermost call if the flag is set: undoes and releases what waits, and drains native code's releases. It does all that
 * after the next outermost call if the stack of JavaScript is full.
 */
export function catchUp(stack: Stack): void {
  stack.clearPending()
  try {
    stack.settle(0)
    stack.text = 0
    releaseWaiting(stack)
    drainReleased(stack)
    takeReleasedCallbacks()
  } catch (error) {
    stack.head[PENDING] = 1
    throw error
  }
}

let live = 0

export const heldObjects = (): number => live

/** The properties of a native object that calls read: the address, whose halves are written into a slot, and the type. */
export class Cell {
  readonly typeIndex: number
  /** The object's address: 0 once its reference is released. */
  handle: number
  /** The place of the reference: see {@link own}. */
  place: number
  /** The low 32 bits of the address, as an int32. */
  readonly lo: number
  /** The high 32 bits of the address, as an int32. */
  readonly hi: number

  constructor(typeIndex: number, handle: number) {
    this.typeIndex = typeIndex
    this.handle = handle
    this.lo = lowWord(handle)
    this.hi = highWord(handle)
    this.place = 0
  }
}

/** The cell of what only inherits from a native object, such as a function that `Function.prototype.bind` made: a closed object. */
const CLOSED = new Cell(TypeIndex.Object, 0)

let markAsUncloneable: ((object: object) => void) | undefined

/** Makes messages to other threads refuse an object. Loading node:worker_threads takes 2 ms, so it waits for the first object. */
function keepOnThread(object: object): void {
  markAsUncloneable ??= process.getBuiltinModule('node:worker_threads').markAsUncloneable
  markAsUncloneable(object)
}

let readCell: (object: NativeObject) => Cell

/** Makes the JavaScript object of a native one. Takes over a reference. */
export type Wrapper = new (typeIndex: number, handle: number) => NativeObject

/** The classes of this package by type index. Each registers itself, so that the code that reads values imports none. */
const builtInClasses = new Map<number, Wrapper>()

/** The wrappers of all types of which objects were read. */
const wrappers = new Map<number, Wrapper>()

/** Returns the wrapper of a type of which no object was read yet. The files of the classes of registered types import this one. */
let findWrapper: (typeIndex: number) => Wrapper

/** Sets the function that returns the wrappers of registered types. */
export function provideWrappers(find: (typeIndex: number) => Wrapper): void {
  findWrapper = find
}

export function bindClass(constructor: Wrapper, ...typeIndices: readonly number[]): void {
  for (const typeIndex of typeIndices) {
    builtInClasses.set(typeIndex, constructor)
    wrappers.set(typeIndex, constructor)
  }
}

export const builtInClass = (typeIndex: number): Wrapper | undefined => builtInClasses.get(typeIndex)

export const isBuiltInClass = (type: unknown): boolean => [...builtInClasses.values()].some((each) => each === type)

/** Forgets the wrappers of objects, because a program has named other classes for them. */
export function forgetWrappers(): void {
  wrappers.clear()
}

/** A base class whose constructor returns another object, such as a function, for the subclass to set up. */
// oxlint-disable-next-line typescript/no-extraneous-class
class Adopted {
  constructor(object: object | undefined) {
    if (object !== undefined) return object
  }
}

/**
 * An object of native code, held by one reference. `close()` releases the reference; otherwise the garbage collector does, or the end
 * of the thread.
 *
 * @example
 * const list = getGlobal('ffi.List')(1, 2) as NativeArray
 * String(list) // '[ffi.List]'
 * list.close()
 */
export class NativeObject extends Adopted {
  static {
    inspectAsText(this)
    bindClass(this, TypeIndex.Object)
    readCell = (object) => (#cell in object ? object.#cell : CLOSED)
  }

  /** The key of the type whose objects are instances of the class. */
  static readonly typeKey: string = 'ffi.Object'

  // Libraries have fields of any name, so an object has no property of this package.
  readonly #cell: Cell

  /** @internal takes over a reference. @param self the object to set up, by default a new one. */
  constructor(typeIndex: number, handle: number, self?: object, cell: Cell = new Cell(typeIndex, handle)) {
    super(self)
    if (typeof handle !== 'number') {
      const hint =
        "Use packedFunc(), getGlobal() or Module.open(path), or call a function that makes the object: getGlobal('ffi.List')(1, 2)."
      throw wrongType('handle', 'that of a native object', handle, hint)
    }
    cell.place = own(handle)
    this.#cell = cell
    // A message would have a copy without the reference. Functions cannot be cloned anyway.
    if (typeof self !== 'function') keepOnThread(this)
    live++
    collected.watch(this, cell.place, this)
  }

  /** Whether the object can be used: false once it is closed or moved into native code. */
  get isAlive(): boolean {
    return readCell(this).handle !== 0
  }

  /** The index of the object's type, which can differ between processes. */
  get typeIndex(): number {
    return readCell(this).typeIndex
  }

  /** The name of the object's type, such as `ffi.Function`. @throws {ScopeClosedError} once closed. */
  get typeKey(): string {
    return typeKeyOf(openCell(this).typeIndex)
  }

  /**
   * Returns whether a value is the same native object. Two reads of one object give two values of JavaScript, which `===`
   * distinguishes. A closed object is not the same as any other.
   *
   * @example
   * list.sameAs(list) // true
   */
  sameAs(other: unknown): boolean {
    const { handle } = readCell(this)
    return handle !== 0 && other instanceof NativeObject && readCell(other).handle === handle
  }

  /**
   * Returns this object as an object of a class, for libraries that declare their results as `ffi.Object`.
   *
   * @throws {PackedFuncTypeError} if it is not an instance of the class.
   * @example
   * (list as NativeObject).as(NativeArray).size // 2
   */
  as<T extends NativeObject>(type: { readonly prototype: T; readonly name: string }): T {
    // A class whose constructor is protected has only these properties for TypeScript.
    const given: unknown = type
    // Arrow functions and bound ones have no prototype, which instanceof asks for.
    if (typeof given !== 'function' || !(given.prototype instanceof Object)) throw wrongType('type', 'a class', given)
    if (this instanceof given) return this as unknown as T
    throw new PackedFuncTypeError('TypeError', `the object must be a ${type.name}, got ${inBrackets(this)}`, {
      details: { expected: type.name, received: typeKeyOf(readCell(this).typeIndex) },
    })
  }

  /** The type in brackets: `[ffi.Array]`, or `[ffi.Array, closed]`. */
  override toString(): string {
    return inBrackets(this)
  }

  /** Releases the reference. Native code may still hold the object. @throws {ScopeClosedError} if it is closed already. */
  close(): void {
    const { place } = openCell(this)
    forget(this)
    release(openStack(), place)
  }

  /** As {@link close}, but does nothing if the object is closed already. */
  [Symbol.dispose](): void {
    if (readCell(this).handle !== 0) this.close()
  }
}

/** The cell of an object, also of a closed one. */
export const cellOf = (object: NativeObject): Cell => readCell(object)

/** The cell of an object for a call. @throws {ScopeClosedError} if the object is closed. */
export function openCell(object: NativeObject): Cell {
  const cell = readCell(object)
  if (cell.handle !== 0) return cell
  throw new ScopeClosedError('the native object is closed already', {
    hint: 'Use it before you close it or pass it as rvalue().',
    details: { expected: 'an open native object', received: inBrackets(object) },
  })
}

/** The text of an object of which only the type is known. */
export const inBrackets = (object: NativeObject): string => {
  const { typeIndex, handle } = readCell(object)
  return `[${typeKeyOf(typeIndex)}${handle === 0 ? ', closed' : ''}]`
}

/** Closes an object, whose reference stays at its place. */
function forget(object: NativeObject): void {
  readCell(object).handle = 0
  live--
  collected.forget(object)
}

/** Gives the reference to the caller, for a value that is moved into native code. @throws {ScopeClosedError} if it is closed. */
export function surrender(object: NativeObject): number {
  const cell = openCell(object)
  const { handle, place } = cell
  // The stack of JavaScript may be too full for one of these, but for nothing after them.
  collected.forget(object)
  disown(place)
  cell.handle = 0
  live--
  return handle
}

/** Takes a reference back that was surrendered. */
export function restore(object: NativeObject, handle: number): void {
  const cell = readCell(object)
  cell.place = own(handle)
  cell.handle = handle
  live++
  collected.watch(object, cell.place, object)
}

/** Makes the JavaScript object of a native one. Takes over a reference. */
export function wrapObject(typeIndex: number, handle: number): NativeObject {
  const wrapper = wrapperClass(typeIndex, handle)
  return new wrapper(typeIndex, handle)
}

/** The wrapper for an object, whose reference is released if there is an error. */
export const wrapperClass = (typeIndex: number, handle: number): Wrapper =>
  wrappers.get(typeIndex) ?? newWrapper(typeIndex, handle)

function newWrapper(typeIndex: number, handle: number): Wrapper {
  try {
    const wrapper = findWrapper(typeIndex)
    wrappers.set(typeIndex, wrapper)
    return wrapper
  } catch (error) {
    openStack().release(handle)
    throw error
  }
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
