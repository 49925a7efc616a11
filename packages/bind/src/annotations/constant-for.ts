import { scalarSizes } from '../model/scalar-sizes.ts'
import type { Constant } from '../model/constant.ts'
import type { ScalarKind, Type } from '../model/model.ts'
import { isText } from '../write/types.ts'

/** A constant as a value of a parameter. Undefined if it does not fit the type. */
export function constantFor(type: Type, constant: Constant): Constant | undefined {
  switch (type.kind) {
    case 'scalar':
    case 'enum':
      return type.as.startsWith('float') ? asReal(constant) : asInteger(type.as, constant)
    case 'pointer':
      if (constant.kind === 'text') return isText(type) ? constant : undefined
      return asPointer(constant)
    default:
      return undefined
  }
}

function asReal(constant: Constant): Constant | undefined {
  if (constant.kind === 'real') return constant
  return constant.kind === 'integer' ? { kind: 'real', value: Number(constant.value) } : undefined
}

function asInteger(as: ScalarKind, constant: Constant): Constant | undefined {
  if (constant.kind !== 'integer') return undefined
  const { value } = constant
  const bits = as === 'bool' ? 1 : scalarSizes[as] * 8
  const fits = as.startsWith('int') ? BigInt.asIntN(bits, value) === value : BigInt.asUintN(bits, value) === value
  return fits ? constant : undefined
}

/** An address that is a value. -1 is the last one. */
function asPointer(constant: Constant): Constant | undefined {
  if (constant.kind !== 'integer' && constant.kind !== 'pointer') return undefined
  const value = BigInt.asUintN(64, constant.value)
  const fits = value === constant.value || BigInt.asIntN(64, value) === constant.value
  return fits ? { kind: 'pointer', value } : undefined
}
