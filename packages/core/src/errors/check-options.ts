import { wrongType } from './check-arguments.ts'
import { ArgumentError } from './kinds.ts'
import { didYouMean } from './suggest.ts'

/**
 * Checks an option object at the public boundary.
 *
 * @param options the caller's value; undefined stands for an object without options.
 * @param known the names of all options.
 * @param name the parameter's name, for messages.
 * @throws {ArgumentError} if `options` is not an object, or has an unknown option.
 */
export function checkOptions<Options extends object>(
  options: Options | undefined,
  known: readonly (keyof Options & string)[],
  name = 'options',
): Partial<Options> {
  if (options === undefined) return {}
  if (typeof options !== 'object' || options === null) throw wrongType(name, 'an object', options)
  const expected: readonly string[] = known
  const unknown = Object.keys(options).find((key) => !expected.includes(key))
  if (unknown === undefined) return options
  throw new ArgumentError(`${name} must not have the option ${JSON.stringify(unknown)}, which does not exist`, {
    hint: didYouMean(unknown, expected) ?? `The options are ${expected.join(', ')}.`,
    details: { name, expected, received: unknown },
  })
}
