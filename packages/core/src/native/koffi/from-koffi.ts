import { checkSize, wrongType } from '../../errors/check-arguments.ts'
import { checkAddress, foreignBlock } from '../../memory/foreign-memory.ts'
import { Gate, type Lifetime } from '../../memory/lifetime.ts'
import { Segment } from '../../memory/segment.ts'

/**
 * Returns the memory behind a pointer that a function of koffi has returned, as a segment of a lifetime. When the lifetime closes,
 * the segment and its views can no longer be used. The memory is not freed: add a close action that frees it.
 *
 * Unsafe, because nothing shows how large native memory is.
 *
 * @param pointer a pointer of koffi, which is a bigint.
 * @param byteSize the size of the memory in bytes.
 * @param scope the scope, library or other lifetime whose end is that of the segment.
 * @throws {ArgumentError} if the pointer is null, or an argument has another type. @throws {ArgumentRangeError} if no memory can
 * have this address and size. @throws {ScopeClosedError} if the lifetime is closed or closing.
 * @example
 * const pointer = koffi.alloc('float', 4)
 * scope.addCloseAction(() => koffi.free(pointer))
 * const x = tensor('float32', [4], fromKoffi(pointer, 16, scope))
 */
export function fromKoffi(pointer: bigint, byteSize: number, scope: Lifetime): Segment {
  if (pointer === null || pointer === 0n) {
    const hint = 'Compare the result of the function with null first.'
    throw wrongType('pointer', 'a pointer to memory', pointer, hint)
  }
  if (typeof pointer !== 'bigint') {
    throw wrongType(
      'pointer',
      'a pointer of koffi, which is a bigint',
      pointer,
      'Convert it with koffi.address(pointer).',
    )
  }
  const size = checkSize(byteSize, 'byteSize')
  return new Segment(foreignBlock(gateOf(scope), checkAddress(pointer, 'pointer'), size), 0, size, 0)
}

/** @throws {ArgumentError} if the value is not a lifetime. @throws {ScopeClosedError} once closing has begun. */
function gateOf(scope: unknown): Gate {
  const gate = (scope as { readonly gate?: unknown } | null | undefined)?.gate
  if (!(gate instanceof Gate)) {
    throw wrongType('scope', 'a scope or another lifetime', scope, 'Open a scope with NativeScope.ofConfined().')
  }
  gate.owner.checkOpen()
  return gate
}
