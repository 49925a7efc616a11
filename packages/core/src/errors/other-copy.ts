/**
 * Objects of another copy of this package. Two copies have classes, counters of calls and lists of raw views of their own, so one cannot
 * keep memory of the other alive, and refuses it.
 */

/** The key of the copy that made an object. All copies know it. */
const copyKey: unique symbol = Symbol.for('tenon.core.copy') as never

/** This copy, by the file of its code. */
const thisCopy: { readonly url: string } = { url: import.meta.url }

/** Marks the objects of a class as made by this copy. */
export function markCopy(Class: { readonly prototype: object }): void {
  Object.defineProperty(Class.prototype, copyKey, { value: thisCopy })
}

/** Returns the file of another copy that has made an object; undefined for other values. */
function otherCopyOf(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const copy = (value as { readonly [copyKey]?: Partial<typeof thisCopy> })[copyKey]
  return copy === undefined || copy === thisCopy ? undefined : String(copy.url)
}

/** Returns the words for an object of another copy in a message; undefined for other values. */
export function describeCopy(value: unknown): string | undefined {
  const other = otherCopyOf(value)
  return other === undefined ? undefined : `of another copy of @tenon/core, ${other}, while this one is ${thisCopy.url}`
}

/** Returns the hint for an object of another copy; undefined for other values. */
export function copyHint(value: unknown): string | undefined {
  try {
    if (otherCopyOf(value) === undefined) return undefined
  } catch {
    // A proxy can throw.
    return undefined
  }
  return (
    'Make all packages depend on the same version of @tenon/core, because a process must have one copy of it: npm ls @tenon/core lists the ' +
    'copies, and npm dedupe removes those of one version.'
  )
}
