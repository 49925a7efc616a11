import { dtypeInfo, findDType, type DType } from '../types/dtype.ts'
import { suggest } from '@tenon/binary/internal'
import type { ArrayAttributeElement, ScalarAttributeType } from './kernel-signature.ts'

/** The types of scalar attributes of XLA. */
export const SCALAR_TYPES: readonly ScalarAttributeType[] = [
  'pred',
  's8',
  's16',
  's32',
  's64',
  'u8',
  'u16',
  'u32',
  'u64',
  'f32',
  'f64',
  'c64',
  'c128',
]

const SCALARS_BY_DTYPE = new Map<DType, ScalarAttributeType>(SCALAR_TYPES.map((name) => [dtypeInfo(name).name, name]))

/** Returns the type of scalar attributes with such elements, or undefined if XLA does not have it. */
export function scalarTypeOf(dtype: DType): ScalarAttributeType | undefined {
  return SCALARS_BY_DTYPE.get(dtype)
}

/** Whether an array attribute can have elements of a scalar type. */
export function isArrayElement(type: ScalarAttributeType): type is ArrayAttributeElement {
  return type !== 'pred' && type !== 'c64' && type !== 'c128'
}

/** Returns the short name of an element type: `f32` for `float32`. */
export function shortName(dtype: DType): string {
  return dtypeInfo(dtype).aliases[0] ?? dtype
}

/** Returns an instruction for a name that is not an element type. */
export function elementTypeHint(name: string): string {
  const [nearest] = suggest(name, NAMES, 1)
  return nearest === undefined ? 'Use a type such as f32, bf16, s32, u8 or pred.' : `Did you mean ${nearest}?`
}

const NAMES = [...SCALAR_TYPES, 'f16', 'bf16', 's4', 'u4', 's2', 'u2', 's1', 'u1', 'token', 'any']

/** Returns the canonical name of an element type or an alias, or undefined. */
export function canonicalName(name: string): DType | undefined {
  return findDType(name)?.name
}
