/** Strings that are arguments: UTF-8 with a terminator, in memory for the time of the call. */
import { AllocationError, ArgumentError } from '../../errors/kinds.ts'
import { writeUtf8 } from '../../memory/write-utf8.ts'
import { addressOf } from '../native-memory.ts'
import type { Resolved, Slot } from './store.ts'

/** A text in memory of its own. @throws {ArgumentError} if it contains U+0000 */
export function bytesOfText(text: string, name: string): Buffer {
  const index = text.indexOf('\0')
  if (index !== -1) throw containsNul(name, index)
  const byteSize = Buffer.byteLength(text)
  const bytes = Buffer.allocUnsafeSlow(byteSize + 1)
  bytes[writeUtf8(bytes, text, 0, byteSize)] = 0
  return bytes
}

const containsNul = (name: string, index: number): ArgumentError =>
  new ArgumentError(`${name} must not contain U+0000, at which C would stop reading, got one at index ${index}`, {
    hint: 'Pass bytes in memory instead, with their length.',
  })

/** The reason why native code could not write the texts of a call. */
export function textFailure(slots: readonly Slot[], values: readonly unknown[]): Error {
  for (let i = 0; i < slots.length; i++) {
    const value = values[i]
    if (typeof value === 'string' && value.includes('\0')) return containsNul(slots[i]!.name, value.indexOf('\0'))
  }
  return new AllocationError('there is no memory for the texts of a call', { hint: 'Pass shorter texts.' })
}

/**
 * Replaces the strings among the arguments of a call by the addresses of copies. Returns the copies, which the caller keeps until the call
 * has ended. For asynchronous calls, and where native code does not write the texts.
 */
export function moveTexts(slots: readonly Slot[], resolved: Resolved[]): Buffer[] {
  const copies: Buffer[] = []
  for (let i = 0; i < slots.length; i++) {
    const value = resolved[i]
    if (typeof value !== 'string' || slots[i]!.kind !== 'text') continue
    const bytes = bytesOfText(value, slots[i]!.name)
    copies.push(bytes)
    resolved[i] = addressOf(bytes)
  }
  return copies
}
