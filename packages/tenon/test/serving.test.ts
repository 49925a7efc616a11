import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pageBlocks, readerDirectory, runInDirectory, writePageFiles } from './reader.ts'
import { tenonProgram } from './run-tenon.ts'

const page = 'docs/serving.md'
const blocks = pageBlocks.filter((block) => block.page === page)

/** One line of a server's log, without what differs between runs. */
interface LogLine {
  readonly level: string
  readonly message: string
  readonly http?: string
}

const readLine = (line: string): LogLine => {
  const { time: _, http, grpc, ...rest } = JSON.parse(line) as Record<string, string>
  const withoutPort = (address: string | undefined): string | undefined => address?.replace(/\d+$/, 'PORT')
  return { ...rest, http: withoutPort(http), grpc: withoutPort(grpc) } as unknown as LogLine
}

/** The commands in a `console` block, each with the lines below it. */
const commandsOf = (code: string): { readonly command: string; readonly shown: readonly string[] }[] =>
  code
    .split(/^\$ /m)
    .slice(1)
    .map((session) => {
      const [command = '', ...shown] = session.trimEnd().split('\n')
      return { command, shown }
    })

/** A page's server, on ports that are free. */
class Server {
  readonly #process: ChildProcess
  readonly #lines: AsyncIterator<string>
  /** Where it answers, once it listens. */
  url = ''

  constructor(directory: string, args: readonly string[]) {
    const ports = ['--http-port=0', '--grpc-port=0']
    const stdio = ['ignore', 'ignore', 'pipe'] as const
    this.#process = spawn(process.execPath, [tenonProgram, ...args, ...ports], { cwd: directory, stdio: [...stdio] })
    this.#lines = createInterface({ input: this.#process.stderr! })[Symbol.asyncIterator]()
  }

  async nextLine(): Promise<LogLine> {
    const { value } = (await this.#lines.next()) as { readonly value: string }
    this.url = (JSON.parse(value) as LogLine).http ?? this.url
    return readLine(value)
  }

  signal(): void {
    this.#process.kill('SIGTERM')
  }

  async end(): Promise<number | null> {
    if (this.#process.exitCode !== null) return this.#process.exitCode
    const [code] = (await once(this.#process, 'exit')) as [number | null]
    return code
  }

  [Symbol.dispose](): void {
    this.#process.kill('SIGKILL')
  }
}

/** Does what `curl URL [--data TEXT]` does. */
async function curl(command: string, url: string): Promise<string> {
  const [, path, body] = /^curl http:\/\/127\.0\.0\.1:8000(\S+)(?: --data '([^']*)')?$/.exec(command)!
  const reply = await fetch(`${url}${path}`, body === undefined ? {} : { method: 'POST', body })
  return await reply.text()
}

if (process.platform === 'linux')
  describe('the page about serving', { timeout: 60_000 }, () => {
    let directory: string
    const servers: Server[] = []

    beforeAll(async () => {
      directory = readerDirectory()
      writePageFiles(directory, page)
      for (const { code } of blocks.filter(({ language }) => language === 'sh')) {
        const { code: exitCode, stderr } = await runInDirectory(directory, 'sh', ['-e', '-c', code])
        expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
      }
    }, 60_000)
    afterAll(() => {
      for (const server of servers) server[Symbol.dispose]()
      rmSync(directory, { recursive: true })
    })

    test('shows what the server logs and answers', async () => {
      const all = blocks.filter(({ language }) => language === 'console').flatMap(({ code }) => commandsOf(code))
      const seen = new Set<string>()
      for (const { command, shown } of all) {
        const [program = '', ...args] = command.replace(/^npx /, '').split(' ')
        seen.add(program)
        if (program === 'curl') {
          expect(await curl(command, servers.at(-1)!.url)).toBe(shown.join('\n'))
          continue
        }
        expect([program, args[0]]).toEqual(['tenon', 'serve'])
        const server = new Server(directory, args)
        servers.push(server)
        const [first, ...rest] = shown
        expect(await server.nextLine()).toEqual(readLine(first!))
        if (rest.length === 0) continue
        server.signal()
        for (const line of rest) expect(await server.nextLine()).toEqual(readLine(line))
        expect(await server.end()).toBe(0)
      }
      expect(seen).toEqual(new Set(['tenon', 'curl']))
    })
  })
