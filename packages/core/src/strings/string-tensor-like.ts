import { isProxy } from 'node:util/types'
import { UnsupportedError } from '../errors/kinds.ts'
import type { Segment } from '../memory/segment.ts'
import { Tensor } from '../types/tensor.ts'
import type { StringLayout } from './string-layout.ts'

/**
 * A tensor of strings, as kernels take and return it. A `StringTensor` of `tenon/tstring` is one.
 *
 * The elements of other objects are not trusted: only strings inside the segment are read, and pointers are refused.
 */
export interface StringTensorLike {
  readonly layout: StringLayout
  readonly shape: readonly number[]
  /** The memory of the elements: a struct of 24 or 16 bytes for each, or the buffer of a layout without structs. */
  readonly segment: Segment
}

/** A tensor of strings that a function in TypeScript gets. It is of the class that was announced first: `StringTensor` of `tenon/tstring`. */
export interface StringArgument extends StringTensorLike {
  /** The number of strings. */
  readonly length: number
  get(index: number): string
  set(index: number, text: string | Uint8Array): void
  toArray(): string[]
}

/** The memory of a tensor of strings. Everything in it was checked, except the elements. */
export interface StringMemory extends StringTensorLike {
  /** Whether the byte order and the size of pointers are those of this machine. */
  readonly isOfHost: boolean
  /** The memory to which pointers of the elements may refer, in the order of its addresses, and apart. */
  readonly regions: readonly Segment[]
  /** Whether pointers may refer to memory of C as well. */
  readonly isForeign: boolean
}

/** The buffers of strings of Arrow: the offsets and bytes of Utf8 or LargeUtf8, or the views and buffers of Utf8View. */
export type ArrowStrings =
  | { readonly offsets: Int32Array | BigInt64Array; readonly data: Uint8Array }
  | { readonly views: Uint8Array; readonly buffers: readonly Uint8Array[] }

/** What belongs to the buffers of strings of Arrow. */
export interface ArrowStringOptions {
  readonly length: number
  /** Arrow's bitmap, and the bit of the first string. */
  readonly validity: Uint8Array | undefined
  readonly validityOffset: number
  /** Whether the bytes are copied to memory of the tensor; otherwise they end with the buffers. */
  readonly isCopied: boolean
}

/** A class of string tensors. The package of the class announces it when it is loaded. */
export interface StringClass {
  /** Returns the memory of a tensor of the class, and undefined for other values. @throws {ScopeClosedError} if it is closed. */
  memoryOf(value: object): StringMemory | undefined
  /**
   * Makes the tensor of a result, whose elements are inside the segment and were checked.
   *
   * @param isShared whether another process can change the memory.
   */
  make(parts: StringTensorLike, isShared: boolean): StringTensorLike
  /** Makes a tensor of strings of Arrow, whose offsets it checks. @throws {MalformedTensorError} if they lead outside of the bytes */
  ofArrow(strings: ArrowStrings, options: ArrowStringOptions): StringArgument
  /** The offsets and the bytes of a tensor of the class, which are not copied if they are in order; undefined for other values. */
  toArrow(value: object): { readonly offsets: Int32Array | BigInt64Array; readonly data: Uint8Array } | undefined
  /** Makes a tensor of the strings of another library. @throws {ArgumentError | MalformedTensorError} if they are not valid */
  from(strings: StringSource): StringTensorLike
}

/** The strings of another library: texts, or UTF-8 in the form of Arrow. The class checks them. */
export interface StringSource {
  readonly shape: readonly number[]
  readonly texts?: readonly unknown[]
  readonly offsets?: unknown
  readonly data?: unknown
  /** The number of strings. */
  readonly length?: number
  readonly validity?: unknown
  readonly validityOffset?: unknown
  /** Whether the bytes of the strings are copied. */
  readonly isCopied: boolean
}

/** Whether a value can be read as a tensor of strings. A Proxy cannot. */
export function isStringTensor(value: unknown): value is StringTensorLike {
  if (typeof value !== 'object' || value === null || isProxy(value) || value instanceof Tensor) return false
  return 'layout' in value && 'segment' in value && 'shape' in value
}

const classes: StringClass[] = []

/** Announces a class of string tensors. Results are tensors of the class that came first. */
export function addStringClass(one: StringClass): void {
  classes.push(one)
}

/** Whether there is a class for results. */
export const hasStringClass = (): boolean => classes.length > 0

/** Returns the memory of a tensor of a known class, and undefined for other values. */
export function knownMemory(value: object): StringMemory | undefined {
  for (const one of classes) {
    const memory = one.memoryOf(value)
    if (memory !== undefined) return memory
  }
  return undefined
}

let load: (() => void) | undefined

/** Sets the function that loads the package of a class, for the first result of a program that has not loaded it. */
export function loadStringsWith(loader: () => void): void {
  load = loader
}

/** Makes the tensor of a result, which is a plain object if no class was announced, and no function loads one. */
export function makeStrings(parts: StringTensorLike, isShared: boolean): StringTensorLike {
  if (classes.length === 0) load?.()
  const [first] = classes
  return first === undefined ? Object.freeze({ ...parts }) : first.make(parts, isShared)
}

/** Makes a tensor of strings of Arrow. @throws {UnsupportedError} if no class is loaded @throws {MalformedTensorError} */
export function stringsOfArrow(strings: ArrowStrings, options: ArrowStringOptions): StringArgument {
  requireStringClass('an Arrow column')
  return classes[0]!.ofArrow(strings, options)
}

/** The offsets and the bytes of a tensor of a known class; undefined for other values. @throws as `toArrow()` of a class */
export function arrowOfStrings(value: object): ReturnType<StringClass['toArrow']> {
  for (const one of classes) {
    const strings = one.toArrow(value)
    if (strings !== undefined) return strings
  }
  return undefined
}

/** Loads the class for a function in TypeScript, which gets tensors of it. @throws {UnsupportedError} if there is none */
export function requireStringClass(user: string): void {
  if (classes.length === 0) load?.()
  if (classes.length > 0) return
  throw new UnsupportedError(`the strings of ${user} need the class StringTensor, which is not loaded`, {
    hint: "Write import '@tenon/tstring', or import 'tenon/tstring', before.",
  })
}

/** Makes a tensor of the strings of another library. @throws {UnsupportedError} if no class is loaded. @throws as {@link StringClass.from} */
export function makeStringsFrom(strings: StringSource): StringTensorLike {
  requireStringClass('another library')
  return classes[0]!.from(strings)
}
