import { wrongType } from '@tenon/core/internal'

/**
 * Checks the form of a record that users write by hand, whose contents the rules of NNAPI check afterwards.
 *
 * @throws {ArgumentError} if the value is not an object, or one of the lists is not an array.
 */
export function checkForm(value: unknown, name: string, lists: readonly string[]): void {
  if (typeof value !== 'object' || value === null) throw wrongType(name, `an object with ${lists.join(', ')}`, value)
  for (const list of lists) {
    const found = (value as Record<string, unknown>)[list]
    if (!Array.isArray(found)) throw wrongType(`${name}.${list}`, 'an array', found)
  }
}

/** Checks the form of each element of a list. @throws {ArgumentError} as {@link checkForm} */
export function checkForms(values: readonly unknown[], name: string, lists: readonly string[]): void {
  values.forEach((value, i) => checkForm(value, `${name}[${i}]`, lists))
}
