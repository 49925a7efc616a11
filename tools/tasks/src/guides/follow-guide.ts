import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { realpathSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { join, relative } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

import { withChecks } from '@tenon/config/example-code'
import { ToolError } from '@tenon/build'

import { root } from '../lib/root.ts'
import type { Sandbox } from '../rehearse/rehearsal.ts'
import { whyNotRun } from './cannot-run.ts'
import { isShown, type Session, sessionsOf } from './console-session.ts'
import type { Reader } from './readers.ts'
import type { SiteBlock } from './site-blocks.ts'

/** What became of a block. */
export interface Followed {
  /** The guide and the number of the block on it, from 1: `memory 3 (ts)`. */
  readonly place: string
  readonly outcome: 'passed' | 'failed' | 'not run'
  /** Why the block failed or was not run. */
  readonly reason?: string
}

/** How long a command may take until it shows what the page shows, in milliseconds. */
const SHOW_TIMEOUT = 60_000

const checkValues = pathToFileURL(join(root, 'packages/tenon/test/fixtures/check-values.js')).href

/**
 * Does what a reader of a guide does with its blocks, in order: writes the files, runs the commands and the programs as they are printed, and
 * compares what the page says they print. Programs of the console that do not end, such as servers, run until the end of the page.
 *
 * @param folder of the sandbox
 */
export async function followGuide(
  name: string,
  blocks: readonly SiteBlock[],
  sandbox: Sandbox,
  folder: string,
  reader: Reader,
): Promise<Followed[]> {
  const services: Service[] = []
  const followed: Followed[] = []
  let at = folder
  try {
    for (const [i, block] of blocks.entries()) {
      const place = `${name} ${i + 1} (${block.file ?? block.language})`
      const why = whyNotRun(block)
      try {
        if (block.language === 'json') JSON.parse(block.code)
        if (why === undefined) at = await follow(block, `block-${i + 1}.ts`, sandbox, at, services, reader)
        followed.push(why === undefined ? { place, outcome: 'passed' } : { place, outcome: 'not run', reason: why })
      } catch (error) {
        if (!(error instanceof ToolError || error instanceof SyntaxError)) throw error
        followed.push({ place, outcome: 'failed', reason: error.message })
      }
    }
  } finally {
    for (const service of services) await service.end()
  }
  return followed
}

/** Does what a block says. @returns the folder in which the reader is afterwards */
async function follow(
  { language, code, file }: SiteBlock,
  program: string,
  sandbox: Sandbox,
  folder: string,
  services: Service[],
  reader: Reader,
): Promise<string> {
  if (file !== undefined) sandbox.write({ [file]: code }, folder)
  else if (language === 'sh') {
    const { stdout } = await sandbox.run(['sh', '-e', '-c', `{\n${reader.commands(code)}} >&2\npwd`], folder)
    return relative(realpathSync(sandbox.directory), stdout.trim())
  } else if (language === 'console') {
    for (const { command, shown } of sessionsOf(code))
      await runSession({ command: reader.commands(command), shown }, sandbox, folder, services)
  } else if (language === 'ts') {
    // A first line `// models/scale/model.ts` is the name of the file.
    const [, path = program] = /^\/\/ (\S+\.[jt]s)\n/.exec(code) ?? []
    sandbox.write({ [path]: withChecks(code) }, folder)
    const { stderr } = await sandbox.run(reader.program(checkValues, path, code), folder)
    if (stderr !== '') throw new ToolError(`wrote to stderr:\n${stderr}`)
  } else throw new ToolError(`a reader does not know what to do with a block of the language "${language}"`)
  return folder
}

/** A program of the console. */
interface Service {
  readonly command: string
  end(): Promise<void>
}

/** Runs a command until it has shown what the page shows, and leaves it running if it does not end. */
async function runSession(
  { command, shown }: Session,
  sandbox: Sandbox,
  folder: string,
  services: Service[],
): Promise<void> {
  const [program] = command.split(' ./')
  // The reader ends a server before the next one takes its port.
  for (const earlier of services) if (earlier.command.startsWith(program!)) await earlier.end()
  const child = spawn('sh', ['-c', command], {
    cwd: join(sandbox.directory, folder),
    env: sandbox.env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const outputs = ['', '']
  for (const [i, stream] of [child.stdout, child.stderr].entries())
    stream.setEncoding('utf8').on('data', (text: string) => (outputs[i] += text))
  let end: { readonly code: number | null } | undefined
  const closed = once(child, 'close').then(([code]) => (end = { code: code as number | null }))
  const signal = (name: NodeJS.Signals): void => {
    if (end === undefined) process.kill(-child.pid!, name)
  }
  const service: Service = {
    command,
    async end() {
      signal('SIGKILL')
      await closed
    },
  }
  services.push(service)
  let wasSignalled = false
  const waitFor = async (lines: readonly string[]): Promise<void> => {
    // Any output begins with what `...` stands for, so the command must end first.
    const mustEnd = lines.length === 0 || lines.includes('...')
    for (const limit = Date.now() + SHOW_TIMEOUT; ; await wait(50)) {
      const hasEnded = end !== undefined
      const isDone = lines.length === 0 || outputs.some((output) => isShown(lines, output))
      if (isDone && (end?.code === 0 || wasSignalled || (!hasEnded && !mustEnd))) return
      if (hasEnded || Date.now() > limit)
        throw new ToolError(`${command} must show:\n${lines.join('\n')}\ngot:\n${outputs.join('')}`)
    }
  }
  const signalled = shown.findIndex((line) => line.includes('"signal":"SIGTERM"'))
  if (signalled >= 0) {
    await waitFor(shown.slice(0, signalled))
    signal('SIGTERM')
    wasSignalled = true
    await closed
  }
  await waitFor(shown)
}
