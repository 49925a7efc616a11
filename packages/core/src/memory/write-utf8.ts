import { wrongValue } from '../errors/check-arguments.ts'

/** The method behind `Buffer#write`, which Node's type definitions lack. */
interface Utf8Buffer {
  utf8Write(text: string, byteOffset: number, byteLength: number): number
}

/**
 * Writes as many whole characters as fit in `room` bytes, and returns the number of bytes written.
 *
 * @throws {ArgumentRangeError} if the program has replaced the method of Buffer, and the new one returns a wrong size. Callers place
 * the next string behind this one, and native code reads as many bytes as they say.
 */
export function writeUtf8(bytes: Buffer, text: string, offset: number, room: number): number {
  const size = (bytes as unknown as Utf8Buffer).utf8Write(text, offset, room)
  if (size >>> 0 !== size || size > room) refuse(size, room)
  return size
}

function refuse(size: unknown, room: number): never {
  throw wrongValue('the result of Buffer.prototype.utf8Write', `a whole number from 0 to ${room}`, size)
}
