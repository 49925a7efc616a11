import { wrongType } from './wrong-argument.ts'
import { ArgumentError } from './kinds.ts'
import { didYouMean } from './suggest.ts'

/**
 * Checks an option object at the public boundary.
 *
 * @param options the caller's value; undefined stands for an object without options.
 * @param known the names of all options.
 * @param name the parameter's name, for messages.
 * @throws {ArgumentError} if it is not an object, or has an option that is not known.
 */
export function checkOptions<Options extends object>(
  options: Options | undefined,
  known: readonly (keyof Options & string)[],
  name = 'options',
): Partial<Options> {
  if (options === undefined) return {}
  if (typeof options !== 'object' || options === null) {
    throw wrongType(name, 'an object', options)
  }
  for (const key of Object.keys(options)) {
    if (!(known as readonly string[]).includes(key)) throw unknownOption(key, known, name)
  }
  return options
}

function unknownOption(key: string, known: readonly string[], name: string): ArgumentError {
  return new ArgumentError(`${name} must not have the option ${JSON.stringify(key)}, which does not exist`, {
    hint: didYouMean(key, known) ?? `The options are ${known.join(', ')}.`,
    details: { name, expected: known, received: key },
  })
}
