import { ArenaScope } from '../scope/arena-scope.ts'
import { codecOf } from '../segment/charset.ts'
import type { MemorySegment } from '../segment/memory-segment.ts'
import { checkText, type StringOptions } from '../segment/strings.ts'
import { allocateFrom, type AllocatorLike } from './check-allocator.ts'

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
  if (options === undefined && typeof text === 'string' && allocator instanceof ArenaScope) {
    const segment = text.length < SHORT ? shortString(text, allocator) : longString(text, allocator)
    if (segment !== undefined) return segment
  }
  checkText(text, options ?? {})
  const codec = codecOf(options?.charset)
  const segment = allocateFrom(allocator, codec.byteLength(text) + codec.unit, codec.unit)
  segment.setString(0, text, { ...options, nul: 'allow' })
  return segment
}

/** Up to this length one pass over the characters beats the calls that measure and write a string. */
const SHORT = 16

/** Bytes that one unit of a JavaScript string takes in UTF-8 at most. */
const LONGEST = 3

/** A string of ASCII alone; undefined if it is none, and the arena has lost those few bytes. */
function shortString(text: string, arena: ArenaScope): MemorySegment | undefined {
  const { length } = text
  const segment = arena.allocate(length + 1, 1)
  const { block, base } = segment
  const { bytes } = block
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i)
    if (code > 0x7f || code === 0) return undefined
    bytes[base + i] = code
  }
  return segment
}

/** What `Buffer#write` calls after it has looked at its arguments; not in Node's type definitions. */
interface Utf8Buffer {
  utf8Write(text: string, byteOffset: number): number
}

/** A string written where the arena's next allocation will be, so that nobody has to measure it. */
function longString(text: string, arena: ArenaScope): MemorySegment | undefined {
  const { block, offset, limit } = arena
  const isRoomy = block !== undefined && offset + text.length * LONGEST < limit
  return isRoomy && !text.includes('\0')
    ? arena.allocate((block.bytes as unknown as Utf8Buffer).utf8Write(text, offset) + 1, 1)
    : undefined
}
