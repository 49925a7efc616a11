/** The last value that a TypeScript function threw, and the text that native code got for it. */
let last: { readonly text: string; readonly error: unknown } | undefined

/** Keeps a thrown value until the failure of the surrounding call is read. */
export function keepThrown(text: string, error: unknown): void {
  last = { text, error }
}

/** Returns the thrown value if a failure has its text, and forgets it. */
export function takeThrown(text: string): unknown {
  const found = last?.text === text ? last.error : undefined
  last = undefined
  return found
}
