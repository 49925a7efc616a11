import { checkUsable, writeUtf8 } from '@tenon/core/internal'
import { ArenaScope } from '../scope/arena-scope.ts'
import { codecOf } from '../segment/charset.ts'
import { type MemorySegment, newSegment } from '../segment/memory-segment.ts'
import { checkText, type StringOptions } from '../segment/strings.ts'
import { allocateFrom, type AllocatorLike } from './check-allocator.ts'

/**
 * Allocates memory and writes a C string to it, with a terminator. Characters that the charset cannot represent are
 * replaced.
 *
 * @throws {ArgumentError} if the text contains U+0000, unless `nul` is `allow`. @throws the errors of the allocator.
 * @example
 * using scope = NativeScope.ofConfined()
 * const name = toCString('cos', scope)
 * name.byteSize // 4
 */
export function toCString(text: string, allocator: AllocatorLike, options?: StringOptions): MemorySegment {
  if (typeof text === 'string' && allocator instanceof ArenaScope && allocator.self === allocator && isPlain(options)) {
    const segment =
      text.length < SHORT ? shortString(text, allocator) : longString(text, allocator, options !== undefined)
    if (segment !== undefined) return segment
  }
  const charset = checkText(text, options)
  const codec = codecOf(charset)
  const segment = allocateFrom(allocator, codec.byteLength(text) + codec.unit, codec.unit)
  segment.setString(0, text, charset === undefined ? NUL_ALLOWED : { charset, nul: 'allow' })
  return segment
}

const NUL_ALLOWED: StringOptions = { nul: 'allow' }

/** The last options whose names were checked: most programs pass the same object, and the names take a tenth of the call. */
let checked: StringOptions | undefined

function isPlain(options: StringOptions | undefined): boolean {
  if (options === undefined) return true
  if (options === null || options.nul !== 'allow' || options.charset !== undefined) return false
  if (options === checked) return true
  for (const name in options) if (name !== 'nul') return false
  checked = options
  return true
}

/** Below this length, one pass over the characters is faster than the calls that measure and write a string. */
const SHORT = 16

/** The most bytes that one unit of a JavaScript string takes in UTF-8. */
const LONGEST = 3

/** Writes an ASCII string. For other strings it returns undefined, and the arena has lost those few bytes. */
function shortString(text: string, arena: ArenaScope): MemorySegment | undefined {
  const { length } = text
  const segment = arena.allocate(length + 1, 1)
  const { block, base } = segment
  const { bytes } = block
  // The arena may have a method of its own, which could return memory that is closed.
  if (!block.gate.open || block.exposed) checkUsable(block)
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i)
    if (code > 0x7f || code === 0) return undefined
    bytes[base + i] = code
  }
  return segment
}

/** Writes a string at the place of the arena's next allocation, so that it need not be measured. */
function longString(text: string, arena: ArenaScope, mayHaveNul: boolean): MemorySegment | undefined {
  const { block, offset, limit } = arena
  const longest = text.length * LONGEST
  const isRoomy = block !== undefined && offset + longest < limit
  if (!isRoomy || (!mayHaveNul && text.includes('\0'))) return undefined
  if (!block.gate.open || block.exposed) checkUsable(block)
  const size = writeUtf8(block.bytes, text, offset, longest) + 1
  arena.offset = offset + size
  return newSegment(block, offset, size, 0)
}
