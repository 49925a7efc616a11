import { formatSignature, type KernelSignature, type Parameter } from '@tenon/core'

/**
 * Whether two signatures of a kernel cannot both be right. The metadata of tvm-ffi and template symbols do not contain
 * names, so only the numbers of their parameters and the element types are compared.
 */
export function contradicts(used: KernelSignature, other: KernelSignature): boolean {
  if (other.source === 'tvm-ffi') return parameterCount(used) !== parameterCount(other)
  if (other.source === 'templates') {
    return differInTypes(used.operands, other.operands) || differInTypes(used.results, other.results)
  }
  const text = (signature: KernelSignature): string => formatSignature({ ...signature, doc: '' })
  return text(used) !== text(other)
}

function parameterCount({ operands, results, temps, attributes }: KernelSignature): number {
  return [...operands, ...results, ...temps].filter(({ isToken }) => !isToken).length + attributes.length
}

function differInTypes(used: readonly Parameter[], other: readonly Parameter[]): boolean {
  const isOther = ({ kind, dtypes, shape }: Parameter, { kind: otherKind, ...types }: Parameter): boolean =>
    kind !== otherKind || haveNoneInCommon(dtypes, types.dtypes) || haveOtherRanks(shape, types.shape)
  return used.length !== other.length || used.some((parameter, index) => isOther(parameter, other[index]!))
}

/** An empty list stands for any element type. */
const haveNoneInCommon = (a: readonly string[], b: readonly string[]): boolean =>
  a.length > 0 && b.length > 0 && !a.some((dtype) => b.includes(dtype))

function haveOtherRanks(a: Parameter['shape'], b: Parameter['shape']): boolean {
  const rank = (shape: Parameter['shape']): number | undefined =>
    shape?.some((axis) => typeof axis === 'object' && axis !== null && 'group' in axis) === true
      ? undefined
      : shape?.length
  const [first, second] = [rank(a), rank(b)]
  return first !== undefined && second !== undefined && first !== second
}
