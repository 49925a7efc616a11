import type { InspectOptions } from 'node:util'

/** The key of the method that `util.inspect` calls. */
export const inspectCustom: symbol = Symbol.for('nodejs.util.inspect.custom')

/** `util.inspect`. Loading node:util takes 4 ms of the start of a process, so it waits until something is printed. */
export function inspect(value: unknown, options?: InspectOptions): string {
  return process.getBuiltinModule('node:util').inspect(value, options)
}

/** Makes `console.log` print `toString()` in one line. Called once in a static block of the class. */
export function inspectAsText(constructor: { readonly prototype: object }): void {
  Object.defineProperty(constructor.prototype, inspectCustom, {
    value(this: object): string {
      return String(this)
    },
    configurable: true,
    writable: true,
  })
}
