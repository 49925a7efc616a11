import type { ScalarKind } from './model.ts'

/** The sizes of scalars in bytes. */
export const scalarSizes: Readonly<Record<ScalarKind, number>> = {
  bool: 1,
  int8: 1,
  uint8: 1,
  int16: 2,
  uint16: 2,
  int32: 4,
  uint32: 4,
  int64: 8,
  uint64: 8,
  float32: 4,
  float64: 8,
}
