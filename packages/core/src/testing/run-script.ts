import { spawn } from 'node:child_process'

/** How a script is run. */
export interface ScriptOptions {
  /** Flags of Node.js itself. */
  readonly nodeOptions?: readonly string[]
  /** Added to this process's environment. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** How long it may run, in milliseconds; then it is killed and the result says so. */
  readonly timeout?: number
}

/** How a script ended, and what it printed. */
export interface ScriptResult {
  /** The exit code; null if a signal ended it. */
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly timedOut: boolean
  readonly stdout: string
  readonly stderr: string
}

/**
 * Runs a JavaScript module in a Node.js process of its own, for tests of what may crash: a segmentation fault becomes a
 * signal in the result. The text is a module; it imports packages from where `cwd` is.
 *
 * @example
 * const { signal } = await runScript(`process.abort()`)
 * signal // 'SIGABRT'
 */
export async function runScript(source: string, options: ScriptOptions = {}): Promise<ScriptResult> {
  const { nodeOptions = [], env = {}, cwd = process.cwd(), timeout = 30_000 } = options
  const child = spawn(process.execPath, [...nodeOptions, '--input-type=module', '--eval', source], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [stdout, stderr]: [string[], string[]] = [[], []]
  child.stdout.setEncoding('utf8').on('data', (text: string) => stdout.push(text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => stderr.push(text))
  let timedOut = false
  const timer = setTimeout(() => {
    timedOut = true
    child.kill('SIGKILL')
    // What the script itself has started may live on and keep these open.
    child.stdout.destroy()
    child.stderr.destroy()
  }, timeout)
  try {
    const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
      child.on('error', reject)
      child.on('close', (exitCode, exitSignal) => resolve([exitCode, exitSignal]))
    })
    return { code, signal, timedOut, stdout: stdout.join(''), stderr: stderr.join('') }
  } finally {
    clearTimeout(timer)
  }
}
