import { CHECK, faultError } from '../errors/checks.ts'
import type { Image } from '../image/image.ts'
import { tableSize } from '../layouts/layout.ts'

/** Checks that the table holds the elements. @throws {MalformedTensorError} */
export function checkTable({ layout, count, table }: Image): void {
  if (count === 0 && table.byteSize === 0) return
  const stride = tableSize(layout, 1) - tableSize(layout, 0)
  // Divided rather than multiplied: a count can be anything up to 2^53.
  if (table.byteSize < tableSize(layout, 0) || Math.floor((table.byteSize - tableSize(layout, 0)) / stride) < count) {
    throw faultError({ check: CHECK.TABLE_SIZE, index: count, value: table.byteSize, limit: stride })
  }
}
