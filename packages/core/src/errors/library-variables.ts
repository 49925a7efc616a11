/** A variable that names a library to load in place of one of Tenon's. */
export type LibraryVariable = 'TENON_CORE_LIBRARY' | 'TENON_TVM_FFI_LIBRARY'

const VARIABLES: readonly LibraryVariable[] = ['TENON_CORE_LIBRARY', 'TENON_TVM_FFI_LIBRARY']

type Environment = Readonly<Record<string, string | undefined>>

/** The parts of a process that decide whether the variables apply. Browsers do not have them. */
interface Host {
  readonly process?: { readonly env?: Environment; readonly permission?: unknown }
}

/**
 * Returns the value of a variable, or undefined if it is empty or must be ignored: with `TENON_IGNORE_ENVIRONMENT=1`, and under the
 * permission model of Node.js, whose permissions a library of the environment would not have to obey.
 */
export function libraryVariable(
  name: LibraryVariable,
  environment: Environment = (globalThis as Host).process?.env ?? {},
): string | undefined {
  if (environment['TENON_IGNORE_ENVIRONMENT'] === '1') return undefined
  if ((globalThis as Host).process?.permission !== undefined) return undefined
  return environment[name] || undefined
}

/** A sentence for each variable that is in effect and that a text does not name with its value. */
export function unnamedVariables(text: string): string[] {
  return VARIABLES.flatMap((name) => {
    const value = libraryVariable(name)
    if (value === undefined || (text.includes(name) && text.includes(value))) return []
    return [`This process loads the library that ${name} names, ${value}.`]
  })
}
