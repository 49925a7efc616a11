import { gcAllocator, type Segment } from '@tenon/core'
import type { Abi } from '../src/layouts/abi.ts'
import type { Layout } from '../src/layouts/layout.ts'

export const everyAbi: readonly Abi[] = ['le64', 'be64', 'le32', 'be32']
export const everyLayout: readonly Layout[] = ['tf', 'rfc16', 'rfc24', 'legacy', 'tflite']

/** Parses hexadecimal digits. `*n` repeats the group before it. */
export function hex(text: string): Uint8Array {
  const groups = text
    .trim()
    .split(/\s+/)
    .map((group) => {
      const [digits = '', times = '1'] = group.split('*')
      return digits.repeat(Number(times))
    })
  return Uint8Array.from(Buffer.from(groups.join(''), 'hex'))
}

/** Allocates native memory with these bytes. */
export function memory(bytes: Uint8Array | string, alignment = 16): Segment {
  const content = typeof bytes === 'string' ? Buffer.from(bytes) : bytes
  const segment = gcAllocator.allocate(content.length, alignment)
  new Uint8Array(segment.view().buffer, segment.view().byteOffset, content.length).set(content)
  return segment
}

/** Returns a copy of a segment's bytes. */
export function bytesOf(segment: Segment): Uint8Array {
  const view = segment.view()
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength).slice()
}

/** Bytes that are not text for different reasons, and strings of every critical size. */
export const awkward: readonly Uint8Array[] = [
  '',
  'a',
  '\0',
  'a\0b',
  '\ufeffbom',
  ...[7, 8, 15, 16, 22, 23, 24, 31, 32, 64, 127, 128, 255, 256, 1000].map((size) => 'x'.repeat(size)),
]
  .map((text): Uint8Array => Uint8Array.from(Buffer.from(text)))
  .concat([hex('ff'), hex('eda080'), hex('c080'), hex('f8*30'), hex('e282')])
