import { wrongType } from '../../errors/check-arguments.ts'
import { ArgumentError } from '../../errors/kinds.ts'
import { checkEnterable } from '../../memory/block.ts'
import { addressIn } from '../../memory/pointer-address.ts'
import { Segment } from '../../memory/segment.ts'
import { Tensor } from '../../types/tensor.ts'

/**
 * Returns what functions of koffi accept as a pointer to this memory: its bytes, without a copy, or the address of a stub, a symbol
 * or another segment of 0 bytes.
 *
 * The result is for one call. It does not keep the lifetime open: if the lifetime closes, the bytes are detached, and koffi passes a
 * null pointer. During an asynchronous call, or a call whose callbacks may close the lifetime, hold it open with `acquire()`.
 * koffi runs C on a stack of its own, so C can call a stub during a synchronous call only if the core runs through koffi, too: see
 * `useKoffi()`. Otherwise the call throws a `RangeError`. Asynchronous calls can always call stubs.
 *
 * Read-only memory is passed as a copy, because koffi cannot promise that C does not write to it.
 *
 * @throws {ScopeClosedError | WrongThreadError} if the lifetime is closed or closing.
 * @throws {ArgumentError} if the value is not a segment or a tensor, is not contiguous, or is memory of a device.
 * @example
 * const libc = koffi.load('libc.so.6')
 * const memset = libc.func('void *memset(void *to, int value, size_t size)')
 * const x = tensor('uint8', [4])
 * memset(toKoffi(x), 7, 4)
 * x.toArray() // [7, 7, 7, 7]
 */
export function toKoffi(memory: Segment | Tensor): Uint8Array | bigint {
  const segment = memory instanceof Tensor ? segmentOf(memory) : memory
  if (!(segment instanceof Segment)) throw wrongType('memory', 'a segment, a stub or a tensor', memory)
  checkEnterable(segment.block)
  if (segment.byteSize === 0) return BigInt(addressIn(segment.block, segment.base)!)
  const { buffer, byteOffset, byteLength } = segment.view()
  return new Uint8Array(buffer, byteOffset, byteLength)
}

function segmentOf({ block, base, flags, type, isContiguous }: Tensor): Segment {
  if (isContiguous) return new Segment(block, base, type.byteSize, flags)
  throw new ArgumentError('a tensor for koffi must be contiguous, because koffi passes no strides', {
    hint: 'Pass a row-major copy, x.contiguous().',
  })
}
