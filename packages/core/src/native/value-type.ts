/**
 * Types of parameters and results of a native function. A pointer is a segment, a contiguous tensor, a typed array or null. `text` is a `const char *` in
 * UTF-8 that takes and gives strings.
 */
export type ValueType =
  | 'bool'
  | 'int8'
  | 'uint8'
  | 'int16'
  | 'uint16'
  | 'int32'
  | 'uint32'
  | 'int64'
  | 'uint64'
  | 'float32'
  | 'float64'
  | 'pointer'
  | 'text'

/** The size of each value in bytes, which is also its alignment in C. */
export const VALUE_SIZES: Readonly<Record<ValueType, number>> = {
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
  pointer: 8,
  text: 8,
}

export const isFloat = (kind: ValueType): boolean => kind === 'float32' || kind === 'float64'
