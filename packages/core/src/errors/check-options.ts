import { wrongType } from './check-arguments.ts'
import { isRevoked } from './is-revoked.ts'
import { ArgumentError } from './kinds.ts'
import { didYouMean } from '@tenon/binary/internal'

/** @throws {ArgumentError} if `options` is not an object, or has a key that is not in `known`. */
export function checkOptions<Options extends object>(
  options: Options | undefined,
  known: readonly (keyof Options & string)[],
  name = 'options',
): Partial<Options> {
  if (options === undefined) return {}
  if (typeof options !== 'object' || options === null) throw wrongType(name, 'an object', options)
  // A loop without a closure: this is on the path of calls that take tens of nanoseconds.
  try {
    for (const key in options) if (!(known as readonly string[]).includes(key)) throw unknownOption(key, known, name)
  } catch (error) {
    throw isRevoked(options) ? wrongType(name, 'an object', options) : error
  }
  return options
}

function unknownOption(received: string, expected: readonly string[], name: string): ArgumentError {
  return new ArgumentError(`${name} must not have the option ${JSON.stringify(received)}, which does not exist`, {
    hint: didYouMean(received, expected) ?? `The options are ${expected.join(', ')}.`,
    details: { name, expected, received },
  })
}
