/** Makes `console.log` print `toString()` in one line. Called once in a static block of the class. */
export function inspectAsText(constructor: { readonly prototype: object }): void {
  Object.defineProperty(constructor.prototype, Symbol.for('nodejs.util.inspect.custom'), {
    value(this: object): string {
      return String(this)
    },
    configurable: true,
    writable: true,
  })
}
