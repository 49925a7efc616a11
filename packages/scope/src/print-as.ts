import { inspectAsText } from '@tenon/core/internal'

/** Makes an object print as a text of one line. */
export function printAs<Printed extends object>(text: string, object: Printed): Printed {
  Object.defineProperty(object, 'toString', { value: () => text })
  inspectAsText({ prototype: object })
  return object
}
