import type { Type } from '../model/model.ts'

export const isInteger = (type: Type): boolean =>
  (type.kind === 'scalar' && !type.as.startsWith('float')) || type.kind === 'enum'

export const isCharacters = (type: Type): boolean =>
  type.kind === 'pointer' && type.to.kind === 'scalar' && type.to.c.endsWith('char')

/** A type as C spells it, roughly. */
export function describeType(type: Type): string {
  switch (type.kind) {
    case 'scalar':
    case 'unsupported':
      return type.c
    case 'enum':
    case 'record':
      return type.id ?? 'an enumeration'
    case 'pointer':
      return `${describeType(type.to)} *`
    case 'array':
      return `${describeType(type.of)}[]`
    case 'function':
      return 'a function'
    default:
      return type.kind
  }
}
