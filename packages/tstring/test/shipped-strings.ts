import { gcAllocator, type Segment } from '@tenon/core'
import { decodeStruct, encodeStruct, StringTensor } from '../src/index.ts'
import * as api from '../src/index.ts'
import { bytesOf } from './helpers.ts'

/** A string of TensorFlow with this text. */
export const make = (text = ''): Segment => {
  const string = gcAllocator.allocate(24, 8)
  api.tstringCopy(string, text)
  return string
}

/** Runs with strings whose blocks are freed afterwards. */
export const freeing = (strings: readonly Segment[], run: () => void): void => {
  try {
    run()
  } finally {
    for (const string of strings) api.tstringDealloc(string)
  }
}

/** What its 24 bytes say. */
export const fields = (string: Segment): ReturnType<typeof decodeStruct> =>
  decodeStruct(bytesOf(string), { layout: 'tf', abi: api.hostAbi })

/** The same, of a LARGE. */
export const large = (string: Segment): { size: number; capacity: number; pointer: bigint } => {
  const found = fields(string)
  if (found.type !== 'large') throw new Error(`expected a LARGE, got ${found.type}`)
  return { size: Number(found.size), capacity: Number(found.capacity), pointer: found.pointer }
}

/** The content of a string, through a tensor that trusts it. */
export const content = (string: Segment): Uint8Array =>
  Uint8Array.from(StringTensor.ofSegment(string, { layout: 'tf', shape: [], validate: 'trusted' }).bytes(0))

/** The content as text. */
export const text = (string: Segment): string => Buffer.from(content(string)).toString()

/** A VIEW onto these bytes, which the second segment keeps alive. */
export const viewOf = (bytes: Segment): Segment => {
  const string = make()
  api.tstringAssignView(string, bytes)
  return string
}

/** An OFFSET struct and its bytes, in one block. */
export const offsetString = (value: string): Segment => {
  const whole = gcAllocator.allocate(24 + value.length, 8)
  const view = whole.view()
  const struct = encodeStruct(
    { type: 'offset', size: value.length, offset: 24, count: 1 },
    { layout: 'tf', abi: 'le64' },
  )
  new Uint8Array(view.buffer, view.byteOffset, whole.byteSize).set([...struct, ...Buffer.from(value)])
  return whole
}
