/** Splits a list of names at white space, for long lists in `native.targets.ts`. */
export function names(text: string): string[] {
  return text.trim().split(/\s+/)
}

/** Whether a name matches a pattern of `native.targets.ts`, in which a final `*` matches any rest. */
export function matches(pattern: string, name: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern
}
