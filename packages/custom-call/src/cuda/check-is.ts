import { wrongType } from '@tenon/core/internal'

/** Checks the class of an argument. @param name the public name of the class, for the message. @throws {ArgumentError} */
export function checkIs(
  value: unknown,
  kind: abstract new (...parameters: never[]) => unknown,
  place: string,
  name: string = kind.name,
): void {
  if (!(value instanceof kind)) throw wrongType(place, `a ${name}`, value)
}
