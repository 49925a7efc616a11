/**
 * Makes `console.log` print the objects of a class with `toString()`, in one line, instead of their fields. Call this
 * function once in a static block of the class.
 */
export function inspectAsText(constructor: { readonly prototype: object }): void {
  Object.defineProperty(constructor.prototype, Symbol.for('nodejs.util.inspect.custom'), {
    value(this: object): string {
      return String(this)
    },
    configurable: true,
    writable: true,
  })
}
