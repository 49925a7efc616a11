import { spawn } from 'node:child_process'
import { checkOptions } from './errors/check-options.ts'
import { runtime } from './native/runtime.ts'

/** The options of {@link runScript}. */
export interface ScriptOptions {
  /** Command-line flags of Node.js. For Deno, they are translated. */
  readonly nodeOptions?: readonly string[]
  /** Variables that are added to this process's environment. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** The time in milliseconds after which the script is killed. The default is 30 000. */
  readonly timeout?: number
}

/** The exit status of a script, and its output. */
export interface ScriptResult {
  /** The exit code, or null if a signal ended the process. */
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly timedOut: boolean
  readonly stdout: string
  readonly stderr: string
}

/**
 * Runs the text of a JavaScript module in a separate process of this runtime, so that a test sees a crash as a signal in the result.
 * The module resolves imports like a file in `cwd`.
 *
 * @example
 * const { signal } = await runScript(`process.abort()`)
 * signal // 'SIGABRT'
 */
export async function runScript(source: string, options?: ScriptOptions): Promise<ScriptResult> {
  const checked = checkOptions(options, ['nodeOptions', 'env', 'cwd', 'timeout'])
  const { nodeOptions = [], env = {}, cwd = process.cwd(), timeout = 30_000 } = checked
  const child = spawn(process.execPath, runtime.moduleArguments(nodeOptions, source), {
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
    // Processes that the script started may live on and keep the pipes open.
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
