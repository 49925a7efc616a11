import { ArenaScope } from '../scope/arena-scope.ts'
import { codecOf } from '../segment/charset.ts'
import type { MemorySegment } from '../segment/memory-segment.ts'
import { checkText, type StringOptions } from '../segment/strings.ts'
import { allocateFrom, type AllocatorLike } from './check-allocator.ts'

/** Up to this length one pass over the characters beats the calls that measure and write a string. */
const SHORT = 48

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
  if (options === undefined && typeof text === 'string' && text.length < SHORT && allocator instanceof ArenaScope) {
    const segment = allocator.allocate(text.length + 1, 1)
    if (writeAscii(segment, text)) return segment
    // The arena lost those few bytes. Other allocators are asked once, for what it takes.
  }
  checkText(text, options ?? {})
  const codec = codecOf(options?.charset === undefined ? 'utf-8' : options.charset)
  const segment = allocateFrom(allocator, codec.byteLength(text) + codec.unit, codec.unit)
  segment.setString(0, text, { ...options, nul: 'allow' })
  return segment
}

/** Writes a string to fresh, zeroed memory. @returns false if not all characters are ASCII, or one is U+0000 */
function writeAscii({ block, base }: MemorySegment, text: string): boolean {
  const { bytes } = block
  const { length } = text
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i)
    if (code > 0x7f || code === 0) return false
    bytes[base + i] = code
  }
  return true
}
