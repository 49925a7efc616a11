/** A line on the terminal while a step takes more than a second. */
export interface Progress {
  /** Removes the line. */
  end(): void
}

const SECOND = 1000

/** Shows on a terminal what the command does, with the seconds, as soon as it takes more than one. Elsewhere nothing is shown. */
export function showProgress(step: string): Progress {
  const { stderr } = process
  if (!stderr.isTTY) return { end: () => {} }
  let seconds = 0
  const timer = setInterval(() => stderr.write(`\r\x1b[K${step}, ${++seconds} s`), SECOND)
  return {
    end() {
      clearInterval(timer)
      if (seconds > 0) stderr.write('\r\x1b[K')
    },
  }
}
