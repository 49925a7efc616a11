import { defineCommand, type ArgsDef, type CommandDef } from 'citty'

/** Defines a command whose arguments are typed inside, while all commands have one type outside. */
export function defineSubCommand<const T extends ArgsDef>(definition: CommandDef<T>): CommandDef {
  return defineCommand(definition) as unknown as CommandDef
}
