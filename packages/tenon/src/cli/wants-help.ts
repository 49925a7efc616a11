/** Whether the help is to be printed instead of running the command. Behind `--` are no flags. */
export function wantsHelp(rawArgs: readonly string[]): boolean {
  const end = rawArgs.indexOf('--')
  const flags = end === -1 ? rawArgs : rawArgs.slice(0, end)
  return flags.includes('--help') || flags.includes('-h')
}
