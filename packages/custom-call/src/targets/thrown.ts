/** What the TypeScript function threw that failed last, and the text that native code was given for it. */
let last: { readonly text: string; readonly error: unknown } | undefined

/** Keeps what was thrown until the failure of the call around it is read. */
export function keepThrown(text: string, error: unknown): void {
  last = { text, error }
}

/** What was thrown, if a failure has its text. */
export function takeThrown(text: string): unknown {
  const found = last?.text === text ? last.error : undefined
  last = undefined
  return found
}
