import { parseArguments } from './arguments.ts'
import type { Definition, Values } from './definition.ts'
import type { ExitCode } from './failure.ts'
import type { Style } from './terminal.ts'
import { commandUsage, type DescribedCommand } from './usage.ts'

/** A command whose arguments are known. */
export interface Invocation {
  /** The text of `--help`. */
  usage(style: Style): string
  /** @returns the exit code, or undefined for success */
  run(): ExitCode | void | Promise<ExitCode | void>
}

export interface SubCommand extends DescribedCommand {
  /** @param rawArgs the arguments behind the name of the command */
  start(rawArgs: readonly string[]): Invocation
}

/** Defines a command whose arguments are the same for all inputs. */
export function defineSubCommand<const T extends Definition>({
  meta,
  args,
  run,
}: Pick<SubCommand, 'meta'> & { readonly args: T; run(values: Values<T>): ReturnType<Invocation['run']> }): SubCommand {
  return {
    meta,
    args,
    start: (rawArgs) => ({
      usage: (style) => commandUsage(meta, args, style),
      run: () => run(parseArguments(rawArgs, args, `Run tenon ${meta.name} --help for the list.`)),
    }),
  }
}
