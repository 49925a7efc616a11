import { defineCommand, type ArgsDef, type CommandDef } from 'citty'

/** Defines a command with its arguments typed inside, and all of one type outside. */
export function defineSubCommand<const T extends ArgsDef>(definition: CommandDef<T>): CommandDef {
  return defineCommand(definition) as unknown as CommandDef
}
