import type { ExitCode } from './failure.ts'

/** An argument of a command: a flag with a value or without one, or a positional argument, which is always required. */
export interface ArgumentDefinition {
  readonly type: 'string' | 'enum' | 'boolean' | 'positional'
  readonly description?: string
  /** An example of the value. */
  readonly valueHint?: string
  /** The valid values of an `enum`. */
  readonly options?: readonly string[]
  readonly required?: true
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

/** A repeatable flag has the list of its values. */
export type Values<T extends Definition> = { readonly [Name in keyof T]: Value<T[Name]> }

export interface SubCommand {
  readonly meta: { readonly name: string; readonly description: string }
  readonly args: Definition
  /** @returns the exit code, or undefined for success */
  run(args: Values<Definition>): ExitCode | void
  /** The text of `--help` for a command line, or undefined for the usage of the command. */
  help?(rawArgs: readonly string[]): string | undefined
}

/** Defines a command whose arguments are typed inside, while all commands have one type outside. */
export function defineSubCommand<const T extends Definition>(
  definition: Pick<SubCommand, 'meta' | 'help'> & { readonly args: T; run(args: Values<T>): ExitCode | void },
): SubCommand {
  return definition as unknown as SubCommand
}
