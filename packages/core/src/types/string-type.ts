import { Cleaner } from '../memory/cleaner.ts'
import { stringName, stringSize, type StringLayout } from '../strings/string-layout.ts'
import { TensorType } from './tensor-type.ts'

const interned = new Map<string, WeakRef<TensorType<'uint8'>>>()
const collected = new Cleaner<string>((key) => {
  if (interned.get(key)?.deref() === undefined) interned.delete(key)
})
let latest: TensorType<'uint8'> | undefined

/**
 * Returns the type of the memory of strings. It is that of bytes: with the struct of each string along the last axis, or one axis for a layout
 * without structs. Types are interned, and differ from those of plain bytes, so that neither is taken for the other.
 *
 * @param shape the shape of the strings. @param byteSize the size of the memory, for a layout without structs.
 * @throws {ArgumentRangeError} if the size exceeds 2^53 - 1 bytes.
 */
export function stringType(layout: StringLayout, shape: readonly number[], byteSize: number = 0): TensorType<'uint8'> {
  const size = stringSize(layout)
  const bytes = size === 0 ? [byteSize] : [...shape, size]
  if (latest !== undefined && isSame(latest, layout, shape, bytes)) return latest
  const key = `${stringName(layout)}[${shape.join()}]${byteSize}`
  let type = interned.get(key)?.deref()
  if (type === undefined) {
    type = new TensorType('uint8', bytes, undefined, 'element', { layout, shape: Object.freeze([...shape]) })
    interned.set(key, new WeakRef(type))
    collected.watch(type, key)
  }
  latest = type
  return type
}

function isSame(
  { strings, shape: bytes }: TensorType,
  layout: StringLayout,
  shape: readonly number[],
  wanted: readonly number[],
): boolean {
  return strings!.layout === layout && areEqual(strings!.shape, shape) && areEqual(bytes, wanted)
}

function areEqual(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((size, axis) => size === b[axis])
}
