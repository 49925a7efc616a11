import type { Body } from '@tenon/bench'
import type { StringTensor } from '@tenon/tstring'
import { bodyOf } from './body.ts'
import { cLoops } from './c-loops.ts'
import { MEMORY } from './reused-memory.ts'
import { asciiStrings, COUNT, packed } from './strings.ts'

/** One memcpy in plain C for each string, from its place in the source. */
export function memcpyEach(source: StringTensor): Body {
  const out = new Uint8Array(MEMORY).fill(1)
  const loops = cLoops()
  if (source.layout === 'legacy') {
    return bodyOf('copy, source, count, out', 'copy(source, count, out)')(
      loops.memcpyEachLegacy,
      source.segment,
      COUNT,
      out,
    )
  }
  if (source.layout === 'tflite') {
    const { data, offsets } = packed(asciiStrings())
    return bodyOf('copy, data, offsets, count, out', 'copy(data, offsets, count, out)')(
      loops.memcpyEach,
      data,
      offsets,
      COUNT,
      out,
    )
  }
  const stride = source.layout === 'rfc16' ? 16 : 24
  return bodyOf('copy, source, count, stride, out', 'copy(source, count, stride, out)')(
    loops.memcpyEachStruct,
    source.segment,
    COUNT,
    stride,
    out,
  )
}
