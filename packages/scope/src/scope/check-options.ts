import { ArgumentError } from '@tenon/core'
import { describe } from '@tenon/core/internal'

/** @throws {ArgumentError} if it is no object. */
export function checkOptions<Options extends object>(options: Options): Options {
  if (typeof options === 'object' && options !== null) return options
  throw new ArgumentError(`options must be an object, got ${describe(options)}`)
}
