import { ArenaScope } from '../scope/arena-scope.ts'
import { codecOf } from '../segment/charset.ts'
import { MemorySegment } from '../segment/memory-segment.ts'
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
  if (typeof text === 'string' && allocator instanceof ArenaScope && isPlain(options)) {
    const segment =
      text.length < SHORT ? shortString(text, allocator) : longString(text, allocator, options !== undefined)
    if (segment !== undefined) return segment
  }
  checkText(text, options === undefined ? {} : options)
  const codec = codecOf(options?.charset)
  const segment = allocateFrom(allocator, codec.byteLength(text) + codec.unit, codec.unit)
  segment.setString(0, text, { ...options, nul: 'allow' })
  return segment
}

/** Whether a string becomes UTF-8, without options or with the one that saves the search for U+0000. */
function isPlain(options: StringOptions | undefined): boolean {
  return options === undefined || (options !== null && options.nul === 'allow' && options.charset === undefined)
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
  utf8Write(text: string, byteOffset: number, byteLength: number): number
}

/** A string written where the arena's next allocation will be, so that nobody has to measure it. */
function longString(text: string, arena: ArenaScope, mayHaveNul: boolean): MemorySegment | undefined {
  const { block, offset, limit } = arena
  const longest = text.length * LONGEST
  const isRoomy = block !== undefined && offset + longest < limit
  if (!isRoomy || (!mayHaveNul && text.includes('\0'))) return undefined
  const size = (block.bytes as unknown as Utf8Buffer).utf8Write(text, offset, longest) + 1
  arena.offset = offset + size
  return new MemorySegment(block, offset, size, 0)
}
