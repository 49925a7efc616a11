import type { ArgDef } from 'citty'
import type { ExitCode } from './failure.ts'

/** The arguments of a command in citty's form, with a mark for flags that may be repeated. */
export type Definition = Readonly<Record<string, ArgDef & { readonly repeatable?: true }>>

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
}

/** Defines a command whose arguments are typed inside, while all commands have one type outside. */
export function defineSubCommand<const T extends Definition>(
  definition: Pick<SubCommand, 'meta'> & { readonly args: T; run(args: Values<T>): ExitCode | void },
): SubCommand {
  return definition as unknown as SubCommand
}
