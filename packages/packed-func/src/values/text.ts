import { ScopeClosedError } from '@tenon/core'
import { addressOf, isDetached, keepAlive, LAYOUTS } from '@tenon/core/internal'
import { InternalError, MemoryError, PackedFuncTypeError } from '../errors/error-kinds.ts'
import { TEXT_SIZE, type Stack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'

/** The address and the size of bytes. */
const { size: PAIR_SIZE, offsets: PAIR } = LAYOUTS.TVMFFIByteArray

/** The number of bytes of text that a slot itself can hold. */
export const SMALL = 7

/** The size up to which a loop writes ASCII text faster than the engine's encoder and a search for U+0000. */
const SHORT = 16

/** Packs a string: up to seven bytes in the slot, longer text in the text region, text without room there as an object. */
export function packText(stack: Stack, slot: number, text: string): void {
  if (text.length <= SMALL && packSmallAscii(stack, slot, text)) return
  if (text.length <= SHORT && packShortAscii(stack, slot, text)) return
  // A character takes at most three bytes.
  if (text.length * 3 + 1 > TEXT_SIZE - stack.text || text.includes('\0')) {
    const encoded = Buffer.from(text)
    packObject(stack, slot, encoded, encoded.length, 0)
    return
  }
  const offset = stack.textOffset()
  const size = stack.bytes.write(text, offset)
  stack.bytes[offset + size] = 0
  stack.text += size + 1
  stack.setPointer(slot, TypeIndex.RawStr, stack.address + offset)
}

function packSmallAscii(stack: Stack, slot: number, text: string): boolean {
  const at = slot * 4
  let low = 0
  let high = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code > 127) return false
    if (i < 4) low |= code << (i * 8)
    else high |= code << ((i - 4) * 8)
  }
  stack.i32[at] = TypeIndex.SmallStr
  stack.i32[at + 1] = text.length
  stack.i32[at + 2] = low
  stack.i32[at + 3] = high
  return true
}

/** Writes ASCII text to the text region. @returns false if there is no room, or other characters, which are packed in other ways */
function packShortAscii(stack: Stack, slot: number, text: string): boolean {
  const { bytes, text: used } = stack
  const { length } = text
  if (length + 1 > TEXT_SIZE - used) return false
  const offset = stack.textOffset()
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i)
    if (code === 0 || code > 127) return false
    bytes[offset + i] = code
  }
  bytes[offset + length] = 0
  stack.text = used + length + 1
  stack.setPointer(slot, TypeIndex.RawStr, stack.address + offset)
  return true
}

/** The length of bytes, which a subclass cannot replace. Native code reads as many bytes. */
const lengthOf: (this: Uint8Array) => number = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(Uint8Array.prototype) as object,
  'length',
)!.get as () => number

/** Packs bytes: up to seven in the slot, more as a copy in the text region, those without room there as an object. */
export function packBytes(stack: Stack, slot: number, bytes: Uint8Array): void {
  // A proxy has no bytes of its own.
  if (!ArrayBuffer.isView(bytes))
    throw new PackedFuncTypeError('TypeError', 'a packed function cannot take a proxy of a Uint8Array')
  const length = lengthOf.call(bytes)
  if (length <= SMALL) {
    if (length === 0 && isDetached(bytes.buffer)) {
      throw new ScopeClosedError('bytes cannot be passed, because their buffer is detached', {
        hint: 'Pass them before you transfer the buffer, or pass a copy.',
      })
    }
    stack.set(slot, TypeIndex.SmallBytes, 0, 0)
    stack.i32[slot * 4 + 1] = length
    stack.bytes.set(bytes, stack.slotOffset(slot) + LAYOUTS.TVMFFIAny.offsets.v_bytes)
    return
  }
  const offset = stack.alignedTextOffset()
  if (stack.text + PAIR_SIZE + length > TEXT_SIZE) {
    packObject(stack, slot, bytes, length, 1)
    return
  }
  const address = stack.address + offset
  stack.bytes.writeBigUInt64LE(BigInt(address + PAIR_SIZE), offset + PAIR.data)
  stack.bytes.writeBigUInt64LE(BigInt(length), offset + PAIR.size)
  stack.bytes.set(bytes, offset + PAIR_SIZE)
  stack.text += PAIR_SIZE + length
  stack.setPointer(slot, TypeIndex.ByteArrayPtr, address)
}

/** Packs text or bytes as an object, which is cleared after the call. */
function packObject(stack: Stack, slot: number, bytes: Uint8Array, length: number, isBytes: 0 | 1): void {
  const source = length === 0 ? new Uint8Array(1) : bytes
  const status = stack.host.tn_packed_make_text(stack.slotAddress(slot), addressOf(source), length, isBytes)
  keepAlive(source)
  if (status !== 0) throw new MemoryError(`out of memory for ${length} bytes of text`)
  stack.releaseLater(slot)
}

export function readSmallText(stack: Stack, slot: number): string {
  const start = stack.slotOffset(slot) + LAYOUTS.TVMFFIAny.offsets.v_bytes
  return stack.bytes.toString('utf8', start, start + smallLength(stack, slot))
}

export function readSmallBytes(stack: Stack, slot: number): Uint8Array {
  const start = stack.slotOffset(slot) + LAYOUTS.TVMFFIAny.offsets.v_bytes
  return new Uint8Array(stack.bytes.subarray(start, start + smallLength(stack, slot)))
}

/** Native code writes the length. Behind the slot is other memory. */
function smallLength(stack: Stack, slot: number): number {
  const length = stack.i32[slot * 4 + 1]!
  if (length >>> 0 <= SMALL) return length
  throw new InternalError(`a small text must have at most ${SMALL} bytes, got ${length >>> 0}`)
}
