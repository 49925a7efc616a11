import { ScopeClosedError } from '@tenon/core'
import { addressOf, keepAlive } from '@tenon/core/internal'
import { MemoryError } from '../errors/kind-classes.ts'
import { TEXT_SIZE, type Stack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'

/** Packs a string: up to seven bytes into the slot, then into the text region, then as an object of its own. */
export function packText(stack: Stack, slot: number, text: string): void {
  if (text.length <= 7 && packSmallAscii(stack, slot, text)) return
  // Each character takes three bytes at most.
  if (text.length * 3 + 1 > TEXT_SIZE - stack.text || text.includes('\0')) {
    packObject(stack, slot, Buffer.from(text), 0)
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

/** Packs bytes: up to seven into the slot, then as a copy in the text region, then as an object of their own. */
export function packBytes(stack: Stack, slot: number, bytes: Uint8Array): void {
  const at = slot * 4
  const { length, buffer } = bytes
  if (length <= 7) {
    if (length === 0 && buffer instanceof ArrayBuffer && buffer.detached) {
      throw new ScopeClosedError('bytes can not be passed, their buffer is detached', {
        hint: 'pass them before the buffer is transferred, or pass a copy.',
      })
    }
    let low = 0
    let high = 0
    for (let i = 0; i < length; i++) {
      if (i < 4) low |= bytes[i]! << (i * 8)
      else high |= bytes[i]! << ((i - 4) * 8)
    }
    stack.i32[at] = TypeIndex.SmallBytes
    stack.i32[at + 1] = length
    stack.i32[at + 2] = low
    stack.i32[at + 3] = high
    return
  }
  const start = (stack.text + 7) & ~7
  if (start + 16 + length > TEXT_SIZE) {
    packObject(stack, slot, bytes, 1)
    return
  }
  // A pair of address and size, then the bytes.
  stack.text = start
  const offset = stack.textOffset()
  const address = stack.address + offset
  stack.bytes.writeBigUInt64LE(BigInt(address + 16), offset)
  stack.bytes.writeBigUInt64LE(BigInt(length), offset + 8)
  stack.bytes.set(bytes, offset + 16)
  stack.text += 16 + length
  stack.setPointer(slot, TypeIndex.ByteArrayPtr, address)
}

/** An object that is cleared after the call. */
function packObject(stack: Stack, slot: number, bytes: Uint8Array, isBytes: 0 | 1): void {
  const source = bytes.length === 0 ? new Uint8Array(1) : bytes
  const status = stack.host.makeText(stack.slotAddress(slot), addressOf(source), bytes.length, isBytes)
  keepAlive(source)
  if (status !== 0) {
    throw new MemoryError(`no memory for ${bytes.length} bytes of text`)
  }
  if (stack.i32[slot * 4]! >= TypeIndex.Object) stack.undo.push(slot)
}

/** Reads the small form of text. */
export function readSmallText(stack: Stack, slot: number): string {
  const start = stack.slotOffset(slot) + 8
  return stack.bytes.toString('utf8', start, start + stack.i32[slot * 4 + 1]!)
}

/** Reads the small form of bytes: a copy. */
export function readSmallBytes(stack: Stack, slot: number): Uint8Array {
  const start = stack.slotOffset(slot) + 8
  return new Uint8Array(stack.bytes.subarray(start, start + stack.i32[slot * 4 + 1]!))
}
