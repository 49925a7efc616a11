/** A command of a console block, with the output that the page shows below it. */
export interface Session {
  readonly command: string
  readonly shown: readonly string[]
}

/** Returns the commands of a console block, which begin with `$ `. */
export function sessionsOf(code: string): Session[] {
  return code
    .split(/^\$ /m)
    .slice(1)
    .map((session) => {
      const [command = '', ...shown] = session.trimEnd().split('\n')
      return { command, shown }
    })
}

/** Whether an output is what a page shows. A shown line `...` is any number of lines, and times differ. */
export function isShown(shown: readonly string[], output: string): boolean {
  const pattern = shown.map((line) => (line === '...' ? '(?:.*\n)*?' : `${escape(withoutTimes(line))}\n`)).join('')
  return new RegExp(`^${pattern}$`).test(`${withoutTimes(output).trimEnd()}\n`)
}

const withoutTimes = (text: string): string => text.replaceAll(/"time":"[^"]*"/g, '"time":""')

const escape = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`)
