import { gcAllocator, type Segment } from '@tenon/core'
import { decodeStruct, encodeStruct, StringTensor } from '../src/index.ts'
import * as api from '../src/index.ts'
import { bytesOf } from './helpers.ts'

/** Creates a string of TensorFlow with this text. */
export const make = (text = ''): Segment => {
  const string = gcAllocator.allocate(24, 8)
  api.tstringCopy(string, text)
  return string
}

/** Runs a function and frees the blocks of strings afterwards. */
export const freeing = (strings: readonly Segment[], run: () => void): void => {
  try {
    run()
  } finally {
    for (const string of strings) api.tstringDealloc(string)
  }
}

/** Decodes the 24 bytes of a string. */
export const fields = (string: Segment): ReturnType<typeof decodeStruct> =>
  decodeStruct(bytesOf(string), { layout: 'tf', abi: api.hostAbi })

/** Decodes a LARGE. */
export const large = (string: Segment): { size: number; capacity: number; pointer: bigint } => {
  const found = fields(string)
  if (found.type !== 'large') throw new Error(`expected a LARGE, got ${found.type}`)
  return { size: Number(found.size), capacity: Number(found.capacity), pointer: found.pointer }
}

/** Returns the content of a string, read through a trusted tensor. */
export const content = (string: Segment): Uint8Array =>
  Uint8Array.from(StringTensor.ofSegment(string, { layout: 'tf', shape: [], validate: 'trusted' }).bytes(0))

/** Returns the content of a string as text. */
export const text = (string: Segment): string => Buffer.from(content(string)).toString()

/** Creates a VIEW onto these bytes. The caller keeps the bytes alive. */
export const viewOf = (bytes: Segment): Segment => {
  const string = make()
  api.tstringAssignView(string, bytes)
  return string
}

/** Creates an OFFSET struct, followed by its bytes in the same block. */
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
