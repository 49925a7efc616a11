/** Shows which step of a long task runs. */
export interface Progress {
  step(name: string): void
  /** Removes the line from a terminal. */
  end(): void
}

/** Where progress is shown. */
export type ProgressOutput = Pick<NodeJS.WriteStream, 'isTTY' | 'write'>

/** Shows progress: on a terminal as a line that changes, with the seconds of the whole task, and elsewhere as a line for each step. */
export function showProgress(output: ProgressOutput, task: string): Progress {
  if (!output.isTTY) return { step: (name) => void output.write(`${task} ${name}\n`), end: () => {} }
  const start = performance.now()
  let shown: string | undefined
  const draw = (): void => {
    const seconds = Math.floor((performance.now() - start) / 1000)
    if (shown !== undefined) output.write(`\r\x1b[K${task} ${shown}, ${seconds} s`)
  }
  const timer = setInterval(draw, 1000)
  timer.unref()
  return {
    step(name) {
      shown = name
      draw()
    },
    end() {
      clearInterval(timer)
      if (shown !== undefined) output.write('\r\x1b[K')
      shown = undefined
    },
  }
}
