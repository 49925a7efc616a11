import { ArgumentError } from '@tenon/core'
import { copyHint, describe } from '@tenon/core/internal'

export function argumentError(name: string, expected: string, value: unknown): ArgumentError {
  const received = describe(value)
  return new ArgumentError(`${name} must be ${expected}, got ${received}`, {
    hint: copyHint(value),
    details: { name, expected, received },
  })
}

export function checkOneOf<Name extends string>(value: unknown, names: readonly Name[], name: string): Name {
  const found = names.find((candidate) => candidate === value)
  if (found === undefined) throw argumentError(name, `one of ${names.join(', ')}`, value)
  return found
}
