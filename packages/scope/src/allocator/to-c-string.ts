import { codecOf } from '../segment/charset.ts'
import { locateForWrite } from '../segment/locate.ts'
import type { MemorySegment } from '../segment/memory-segment.ts'
import { checkText, type StringOptions } from '../segment/strings.ts'
import { allocateFrom, type AllocatorLike } from './check-allocator.ts'

/** Up to this length one pass over the characters beats the calls that measure and write a string. */
const SHORT = 64

/**
 * A string as C has it: its bytes and a terminator, in memory of an allocator. What the charset lacks is replaced.
 *
 * @throws {ArgumentError} if there is a U+0000 inside, unless `nul` is `allow`. @throws what the allocator throws.
 * @example
 * using scope = NativeScope.ofConfined()
 * const name = toCString('cos', scope)
 * name.byteSize // 4
 */
export function toCString(text: string, allocator: AllocatorLike, options?: StringOptions): MemorySegment {
  if (options === undefined && typeof text === 'string' && text.length <= SHORT && isShortAscii(text)) {
    const segment = allocateFrom(allocator, text.length + 1, 1)
    const { block, base } = segment
    const { view } = block
    locateForWrite(segment, 0, text.length + 1, 1)
    for (let i = 0; i < text.length; i++) view.setUint8(base + i, text.charCodeAt(i))
    view.setUint8(base + text.length, 0)
    return segment
  }
  checkText(text, options ?? {})
  const codec = codecOf(options?.charset === undefined ? 'utf-8' : options.charset)
  const segment = allocateFrom(allocator, codec.byteLength(text) + codec.unit, codec.unit)
  segment.setString(0, text, { ...options, nul: 'allow' })
  return segment
}

/** Whether all characters are ASCII and none is U+0000. */
function isShortAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === 0 || code > 0x7f) return false
  }
  return true
}
