import type { CType } from '../read/c-types.ts'

/** A type that C code cannot name, such as `typeof` or a vector. */
export class UnnamedType extends Error {}

/** The declarator of a type around a name, inside out as C writes it. `isConst` qualifies the type itself. */
export function declare(type: CType, name: string, isConst = false): string {
  const qualifier = isConst ? 'const ' : ''
  switch (type.kind) {
    case 'void':
      return `${qualifier}void ${name}`
    case 'scalar':
    case 'typedef':
      return `${qualifier}${type.name} ${name}`
    case 'va_list':
      return `${qualifier}__builtin_va_list ${name}`
    case 'record':
      return `${qualifier}${spellingOf(type.record.spelling)} ${name}`
    case 'enum':
      return `${qualifier}${spellingOf(type.enumeration.spelling)} ${name}`
    case 'unsupported':
      throw new UnnamedType()
    case 'pointer':
      return declare(type.to, `(*${qualifier}${name})`, type.toConst)
    case 'array':
      return declare(type.of, `${name}[${type.count ?? ''}]`, isConst)
    case 'function': {
      const parameters = type.parameters.map((parameter) => declare(parameter.type, ''))
      if (type.isVariadic) parameters.push('...')
      return declare(type.result, `${name}(${parameters.join(', ') || 'void'})`)
    }
  }
}

function spellingOf(spelling: string | undefined): string {
  if (spelling === undefined) throw new UnnamedType()
  return spelling
}
