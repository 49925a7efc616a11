import { AlignmentError, type Segment } from '@tenon/core'
import { checkUsable, expose, isPointer, wrongType } from '@tenon/core/internal'
import { checkFunction } from '../check.ts'
import { checkPlain } from '../scope/run.ts'
import { checkWritable } from './locate.ts'

/** A class of views: a typed array, or `DataView`. */
export interface ViewClass<View> {
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): View
  readonly BYTES_PER_ELEMENT?: number
}

/** The classes themselves. A subclass or a proxy of one would run code of the user between the checks and the use. */
const CLASSES: ReadonlySet<unknown> = new Set(
  [
    DataView,
    ...[Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array],
    ...[Float32Array, Float64Array, BigInt64Array, BigUint64Array],
    (globalThis as { Float16Array?: unknown }).Float16Array,
  ].filter((Class) => Class !== undefined),
)

export function typedView<View>(segment: Segment, Class: ViewClass<View>): View {
  if (!CLASSES.has(Class)) throw wrongType('the class of a view', 'a typed array or DataView', Class)
  checkWritable(segment)
  const { block, base, byteSize } = segment
  checkUsable(block)
  if (isPointer(block)) return new Class(new ArrayBuffer(0), 0, 0)
  expose(block)
  const size = Class.BYTES_PER_ELEMENT ?? 1
  const byteOffset = block.view.byteOffset + base
  if (byteOffset % size !== 0 || byteSize % size !== 0) {
    throw new AlignmentError(`the offset and the size of a view must be multiples of its ${size}-byte elements`, {
      hint: 'Allocate with that alignment, or use the accessors.',
      details: { byteOffset, byteSize, elementSize: size },
    })
  }
  return new Class(block.view.buffer, byteOffset, byteSize / size)
}

/** The arguments for `use`. With a literal at the call, the engine would inline `use`. */
const argument: [DataView | undefined] = [undefined]

/**
 * Runs `use` with a raw view while the scope is held open. The call goes through `Reflect.apply`, because the engine would
 * otherwise inline `use` into the `try` block, where its loops run at half the speed.
 */
export function withView<Result>(segment: Segment, use: (view: DataView) => Result): Result {
  checkFunction(use, 'use')
  const { gate } = segment.block
  const view = segment.view()
  gate.enter()
  argument[0] = view
  try {
    const result = Reflect.apply(use, undefined, argument) as Result
    checkPlain(result, 'withView', 'withViewAsync(), which holds the scope open until the promise has settled')
    return result
  } finally {
    argument[0] = undefined
    // What gate.exit() does. The call of a method would fail here when the stack has overflowed, and leave the scope held.
    gate['count']--
  }
}

/** Runs an asynchronous `use` with a raw view, and holds the scope open until its promise has settled. */
export async function withViewAsync<Result>(
  segment: Segment,
  use: (view: DataView) => PromiseLike<Result>,
): Promise<Result> {
  checkFunction(use, 'use')
  const view = segment.view()
  const hold = segment.lifetime.acquire()
  try {
    return await use(view)
  } finally {
    hold.release()
  }
}
