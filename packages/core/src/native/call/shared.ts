import { CONSTANTS } from '../../generated/layouts.ts'

/** The name under which copies of this package find each other. Another version of the core is refused anyway. */
const NAME = Symbol.for(`@tenon/core, ABI ${CONSTANTS.TN_ABI_VERSION}`)

/**
 * Returns a value that all copies of this package in this thread share. A thread has one driver and one frame,
 * but bundlers, package managers and contexts of `node:vm`, such as those of test runners, can give it several copies of the
 * package. The object `process` is the same in all contexts of a thread.
 */
export function shared<Value>(name: string, make: () => Value): Value {
  const holder = process.getBuiltinModule('node:process') as { [NAME]?: Map<string, unknown> }
  if (holder[NAME] === undefined) Object.defineProperty(holder, NAME, { value: new Map<string, unknown>() })
  const values = holder[NAME]!
  if (!values.has(name)) values.set(name, make())
  return values.get(name) as Value
}
