import { wrongType } from '@tenon/core/internal'

/** @throws {ArgumentError} if the value is not a function. */
export function checkFunction(value: unknown, name: string, hint?: string): void {
  if (typeof value !== 'function') throw wrongType(name, 'a function', value, hint)
}

/** @throws {ArgumentError} if the value is neither true, false nor undefined. */
export function checkBoolean(value: unknown, name: string): void {
  if (value !== undefined && typeof value !== 'boolean') throw wrongType(name, 'true or false', value)
}

/** @throws {ArgumentError} if the value is not one of these words. */
export function checkWord<Word extends string>(value: unknown, words: readonly Word[], name: string): Word {
  if (words.includes(value as Word)) return value as Word
  throw wrongType(name, `one of ${words.join(', ')}`, value)
}
