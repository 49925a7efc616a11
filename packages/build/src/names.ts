/** Splits a list of names at white space, for long lists in `native.targets.ts`. */
export function names(text: string): string[] {
  return text.trim().split(/\s+/)
}
