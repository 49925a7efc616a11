import { createHash } from 'node:crypto'

import type { Model } from './model.ts'

/** A hash of everything that a module has, without the paths of this machine. Equal headers give equal hashes with any compiler. */
export function hashOfModel({ target, headers, functions, records, enums, constants, variables }: Model): string {
  const text = JSON.stringify(
    [target, headers, functions, records, enums, constants, variables],
    (key, value: unknown) => (key === 'place' ? undefined : typeof value === 'bigint' ? `${value}n` : value),
  )
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}
