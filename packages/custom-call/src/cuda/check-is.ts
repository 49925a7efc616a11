import { ArgumentError } from '@tenon/core'
import { describe } from '@tenon/core/internal'

/** @throws {ArgumentError} if something is of another class. */
export function checkIs(value: unknown, kind: abstract new (...parameters: never[]) => unknown, place: string): void {
  if (value instanceof kind) return
  throw new ArgumentError(`${place} must be a ${kind.name}, got ${describe(value)}`)
}
