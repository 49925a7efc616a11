import { CONSTANTS } from '../../generated/layouts.ts'

/** The name under which copies of this package find each other. Another version of the core is refused anyway. */
const NAME = Symbol.for(`@tenon/core, ABI ${CONSTANTS.TN_ABI_VERSION}`)

/**
 * Returns a value that all copies of this package in this thread share. A thread has one door to native code and one frame,
 * but bundlers and package managers can give it several copies of the package.
 */
export function shared<Value>(name: string, make: () => Value): Value {
  const values = ((globalThis as { [NAME]?: Map<string, unknown> })[NAME] ??= new Map())
  if (!values.has(name)) values.set(name, make())
  return values.get(name) as Value
}
