/** An argument of a command: a flag with a value or without one, or a positional argument, which is always required. */
export interface ArgumentDefinition {
  readonly type: 'string' | 'enum' | 'boolean' | 'positional'
  readonly description?: string
  /** An example of the value. */
  readonly valueHint?: string
  /** The valid values of an `enum`, or the words that a positional argument can be. */
  readonly options?: readonly string[]
  readonly required?: true
  /** A flag can be given several times. The last positional argument takes all that follow. */
  readonly repeatable?: true
}

/** The arguments of a command, by name. */
export type Definition = Readonly<Record<string, ArgumentDefinition>>

type Value<T> = T extends { repeatable: true }
  ? readonly string[]
  : T extends { type: 'boolean' }
    ? boolean
    : T extends { type: 'positional' }
      ? string
      : (T extends { options: readonly (infer Option)[] } ? Option : string) | undefined

/** A repeatable argument has the list of its values. */
export type Values<T extends Definition> = { readonly [Name in keyof T]: Value<T[Name]> }
