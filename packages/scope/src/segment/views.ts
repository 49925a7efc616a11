import { AlignmentError, ArgumentError, type Segment } from '@tenon/core'
import { checkUsable, describe, expose } from '@tenon/core/internal'
import { checkUse, isThenable } from '../scope/run.ts'
import { checkWritable } from './locate.ts'

/** A typed array's class, or DataView. */
export interface ViewClass<View> {
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): View
  readonly BYTES_PER_ELEMENT?: number
}

/** What all typed arrays' classes extend. */
const TypedArray: unknown = Object.getPrototypeOf(Int8Array)

/** A raw view as a typed array. */
export function typedView<View>(segment: Segment, Class: ViewClass<View>): View {
  if (Class !== (DataView as unknown) && Object.getPrototypeOf(Class ?? 0) !== TypedArray) {
    throw new ArgumentError(`the class of a view must be a typed array's, got ${describe(Class)}`)
  }
  checkWritable(segment)
  checkUsable(segment.block)
  const { block, base, byteSize } = segment
  const size = Class.BYTES_PER_ELEMENT ?? 1
  const byteOffset = block.view.byteOffset + base
  if (byteOffset % size !== 0 || byteSize % size !== 0) {
    throw new AlignmentError(`a view of ${size}-byte elements needs an offset and a size that are multiples of it`, {
      hint: 'allocate with that alignment, or use the accessors.',
      details: { byteOffset, byteSize, elementSize: size },
    })
  }
  expose(block)
  return new Class(block.view.buffer, byteOffset, byteSize / size)
}

/** What `use` is called with. Not a literal at the call: the engine would see through it. */
const argument: [DataView | undefined] = [undefined]

/**
 * Runs `use` with a raw view while the scope is held open. It is called through `Reflect.apply`, so that the engine does
 * not inline it into the `try` block: there its loops run at half the speed.
 */
export function withView<Result>(segment: Segment, use: (view: DataView) => Result): Result {
  checkUse(use)
  const view = segment.view()
  const { gate } = segment.block
  gate.enter()
  argument[0] = view
  try {
    const result = Reflect.apply(use, undefined, argument) as Result
    if (isThenable(result)) {
      throw new ArgumentError('the function given to withView() must return a plain value, got a promise', {
        hint: 'use withViewAsync(), which holds the scope open until the promise has settled.',
      })
    }
    return result
  } finally {
    argument[0] = undefined
    gate.exit()
  }
}

/** Runs an asynchronous `use` with a raw view, and holds the scope open until it has settled. */
export async function withViewAsync<Result>(
  segment: Segment,
  use: (view: DataView) => PromiseLike<Result>,
): Promise<Result> {
  checkUse(use)
  const view = segment.view()
  const hold = segment.lifetime.acquire()
  try {
    return await use(view)
  } finally {
    hold.release()
  }
}
