import { rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

import type { Vitest } from 'vitest/node'

import { FILES, FIRST_RUN, type Loaded, type Message, type Outcome, type Request, SOCKET } from './messages.ts'

/** In milliseconds. A test that takes longer has its own limit, which is half of this. */
const LONGEST_SILENCE = 60_000

/** The end of a process that was asked to run tests: it hung and was killed, or it crashed. */
export class TestProcessEnded extends Error {
  readonly hung: boolean
  /** The last test that it started. */
  readonly test: string | undefined

  constructor(hung: boolean, test: string | undefined) {
    super(hung ? 'the tests did not end' : 'the process of the tests ended')
    this.name = 'TestProcessEnded'
    this.hung = hung
    this.test = test
  }
}

/** The process in which vitest has loaded the tests, and which runs them for mutants. */
export class TestProcess {
  readonly loaded: Loaded
  /** Whether a mutant was active in the process. */
  isFresh = true
  readonly #socket: Socket
  readonly #server: Server
  readonly #messages: AsyncIterator<Message>

  private constructor(server: Server, socket: Socket, messages: AsyncIterator<Message>, loaded: Loaded) {
    this.#server = server
    this.#socket = socket
    this.#messages = messages
    this.loaded = loaded
  }

  /** Starts the process. @param isFirst runs all tests once, and says what they reach. */
  static async start(vitest: Vitest, isFirst: boolean): Promise<TestProcess> {
    const path = join(tmpdir(), `tenon-mutate-${process.pid}-${Date.now().toString(36)}.sock`)
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(path, resolve))
    const files = await vitest.globTestSpecifications()
    const env = { [SOCKET]: path, [FIRST_RUN]: isFirst ? '1' : '0', [FILES]: String(files.length) }
    for (const project of vitest.projects) Object.assign(project.config.env, env)
    Object.assign(process.env, env)
    vitest.state.filesMap.clear()
    // The run of vitest ends only with the process, whose end is no success.
    const run = vitest.runTestSpecifications(files, true).then(
      () => undefined,
      (error: unknown) => error,
    )
    const connected = new Promise<Socket>((resolve) => server.once('connection', resolve))
    const socket = await Promise.race([
      connected,
      run.then((error) => {
        server.close()
        throw new Error('vitest ended before it had loaded the tests', {
          cause: error ?? vitest.state.getUnhandledErrors(),
        })
      }),
    ])
    rmSync(path, { force: true })
    socket.on('error', () => {})
    const messages = readMessages(socket)
    const first = await messages.next()
    if (first.done || first.value.kind !== 'loaded') throw new TestProcessEnded(false, undefined)
    return new TestProcess(server, socket, messages, first.value)
  }

  /** @throws {TestProcessEnded} if the process hangs or ends. */
  async run(request: Request): Promise<Outcome> {
    if (request.mutant !== undefined) this.isFresh = false
    this.#socket.write(`${JSON.stringify(request)}\n`)
    let test: string | undefined
    for (;;) {
      let hung = false
      const timer = setTimeout(() => {
        hung = true
        process.kill(this.loaded.pid, 'SIGKILL')
      }, LONGEST_SILENCE)
      const next = await this.#messages.next().finally(() => clearTimeout(timer))
      if (next.done) throw new TestProcessEnded(hung, test)
      if (next.value.kind === 'outcome') return next.value
      if (next.value.kind === 'started') test = next.value.test
    }
  }

  /** Ends the process. */
  close(): void {
    this.#socket.destroy()
    this.#server.close()
    try {
      process.kill(this.loaded.pid, 'SIGKILL')
    } catch {
      // It has ended.
    }
  }
}

async function* readMessages(socket: Socket): AsyncGenerator<Message> {
  try {
    for await (const line of createInterface({ input: socket })) yield JSON.parse(line) as Message
  } catch {
    // The process was killed while it wrote.
  }
}
