/**
 * The test runner that vitest has in the process of the tests. It loads all files of a package once, and then runs the tests for each mutant
 * that it is asked for. Starting a process and loading the sources for each mutant would take nearly all of the time.
 */
import { connect, type Socket } from 'node:net'
import { relative } from 'node:path'
import { createInterface } from 'node:readline'

import { TestRunner } from 'vitest'
import { startTests } from 'vitest/internal/browser'

import {
  FILES,
  FIRST_RUN,
  type Message,
  type Outcome,
  type RanTest,
  type Reached,
  type Request,
  SOCKET,
} from './messages.ts'

type File = Parameters<NonNullable<TestRunner['onAfterRunFiles']>>[0][number]
type Test = Parameters<TestRunner['onAfterRunTask']>[0]
type Suite = Parameters<TestRunner['onBeforeRunSuite']>[0]
type Task = File['tasks'][number]

type Failed = Outcome['failed']

/** What the code with the mutants shares with Stryker. */
interface Switch {
  activeMutant?: string | undefined
  currentTestId?: string | undefined
  hitCount?: number | undefined
  hitLimit?: number | undefined
  mutantCoverage?: Reached
}

const shared = globalThis as { __stryker__?: Switch }
const mutants: Switch = (shared['__stryker__'] ??= {})

/** Programs and workers that tests start get the mutant from their environment. */
const ENVIRONMENT = '__STRYKER_ACTIVE_MUTANT__'

const isFirstRun = process.env[FIRST_RUN] === '1'

/** The test to which what runs between the tests of a file belongs: its hooks. */
const hooksOf = (file: string): string => `${file}#`

function nameOf(task: Test): string {
  const names = [task.name]
  for (let suite = task.suite; suite !== undefined; suite = suite.suite) names.unshift(suite.name)
  return names.join(' > ')
}

const fileOf = (task: { file: { filepath: string } }): string => relative(process.cwd(), task.file.filepath)
const idOf = (task: Test): string => `${fileOf(task)}#${nameOf(task)}`

const testsOf = (tasks: readonly Task[]): Test[] =>
  tasks.flatMap((task) => (task.type === 'suite' ? testsOf(task.tasks) : [task as Test]))

/** Tests of all files: how vitest names them, and how long they took. */
const known = new Map<string, { vitestId: string; path: string; milliseconds: number }>()

let errors = 0
process.on('uncaughtException', () => errors++)
process.on('unhandledRejection', () => errors++)

export default class TestServer extends TestRunner {
  readonly #ran: RanTest[] = []
  #socket: Socket | undefined
  #startedAt = process.cpuUsage()
  #filesLeft = Number(process.env[FILES])

  /** Set while tests run for a request. */
  #request: { failed: Failed; ran: number } | undefined

  onCollected(files: File[]): void {
    for (const test of testsOf(files))
      known.set(idOf(test), {
        vitestId: test.id,
        path: test.file.filepath,
        milliseconds: known.get(idOf(test))?.milliseconds ?? 0,
      })
  }

  onBeforeRunFiles(files: File[]): void {
    mutants.currentTestId = hooksOf(fileOf({ file: files[0]! }))
  }

  override async onBeforeRunSuite(suite: Suite): Promise<void> {
    if (this.#request === undefined && !isFirstRun) suite.mode = 'skip'
    await super.onBeforeRunSuite(suite)
  }

  override async onBeforeRunTask(test: Test): Promise<void> {
    if (this.#request?.failed !== undefined) test.mode = 'skip'
    else this.#send({ kind: 'started', test: idOf(test) })
    await super.onBeforeRunTask(test)
  }

  override onBeforeTryTask(test: Test, options: { retry: number; repeats: number }): void {
    mutants.currentTestId = idOf(test)
    this.#startedAt = process.cpuUsage()
    super.onBeforeTryTask(test, options)
  }

  override onAfterRunTask(test: Test): void {
    mutants.currentTestId = hooksOf(fileOf(test))
    const { state, errors: reasons } = test.result ?? {}
    const message = reasons?.[0]?.message ?? ''
    const { user, system } = process.cpuUsage(this.#startedAt)
    const milliseconds = (user + system) / 1000
    known.get(idOf(test))!.milliseconds = milliseconds
    if (this.#request === undefined) {
      const { line = 1, column = 1 } = test.location ?? {}
      const ended = state === 'pass' || state === 'fail' ? state : 'skip'
      this.#ran.push({
        id: idOf(test),
        name: nameOf(test),
        file: fileOf(test),
        state: ended,
        milliseconds,
        message,
        line,
        column,
      })
    } else if (state !== 'skip') {
      this.#request.ran++
      if (state === 'fail') this.#request.failed ??= { test: idOf(test), message }
    }
    super.onAfterRunTask(test)
  }

  override async onAfterRunSuite(suite: Suite): Promise<void> {
    if (this.#request !== undefined && suite.result?.state === 'fail') {
      const test = testsOf(suite.tasks).find(({ mode, result }) => mode === 'run' || result !== undefined)
      if (test !== undefined)
        this.#request.failed ??= { test: idOf(test), message: suite.result.errors?.[0]?.message ?? '' }
    }
    await super.onAfterRunSuite(suite)
  }

  override async onAfterRunFiles(files: File[]): Promise<void> {
    await super.onAfterRunFiles(files)
    mutants.currentTestId = undefined
    if (this.#request !== undefined) return
    this.#filesLeft -= files.length
    if (this.#filesLeft === 0) await this.#serve()
  }

  /** Answers requests until the other end closes the socket, which ends the process. */
  async #serve(): Promise<void> {
    // The runs of mutants are no part of the run of vitest's main process.
    Object.assign(this, { onTaskUpdate: undefined, onCollected: undefined, onCollectStart: super.onCollectStart })
    const socket = connect(process.env[SOCKET]!)
    this.#socket = socket
    socket.on('close', () => process.kill(process.pid, 'SIGKILL'))
    socket.on('error', () => process.kill(process.pid, 'SIGKILL'))
    const reached = mutants.mutantCoverage ?? { static: {}, perTest: {} }
    this.#send({ kind: 'loaded', pid: process.pid, tests: this.#ran, reached: withHooks(reached) })
    for await (const line of createInterface({ input: socket }))
      this.#send(await this.#answer(JSON.parse(line) as Request))
  }

  #send(message: Message): void {
    this.#socket?.write(`${JSON.stringify(message)}\n`)
  }

  async #answer({ mutant, tests, hitLimit }: Request): Promise<Outcome> {
    const request = (this.#request = { failed: undefined as Failed, ran: 0 })
    const before = errors
    // The id '' is of no mutant, and keeps the code from looking for one in the environment.
    mutants.activeMutant = mutant ?? ''
    mutants.hitCount = 0
    mutants.hitLimit = hitLimit
    if (mutant !== undefined) process.env[ENVIRONMENT] = mutant
    try {
      for (const { path, ids } of byFile(tests)) {
        await startTests([{ filepath: path, testIds: ids } as never], this)
        if (request.failed !== undefined) break
      }
      await new Promise((resolve) => setTimeout(resolve))
      if (errors > before) request.failed ??= { test: tests[0]!, message: 'an error was not handled' }
      return { kind: 'outcome', ...request, hits: mutants.hitCount }
    } finally {
      mutants.activeMutant = ''
      delete process.env[ENVIRONMENT]
    }
  }
}

/** Groups tests by their file. The files whose tests took least time are first. */
function byFile(tests: readonly string[]): { path: string; ids: string[] }[] {
  const files = new Map<string, { path: string; ids: string[]; milliseconds: number }>()
  for (const test of tests) {
    const found = known.get(test)
    if (found === undefined) continue
    const file = files.get(found.path) ?? { path: found.path, ids: [], milliseconds: 0 }
    file.ids.push(found.vitestId)
    file.milliseconds += found.milliseconds
    files.set(found.path, file)
  }
  return [...files.values()].toSorted((a, b) => a.milliseconds - b.milliseconds)
}

/** Counts what the hooks of a file reach for each of its tests. */
function withHooks({ static: loaded, perTest }: Reached): Reached {
  const all: Record<string, Record<string, number>> = {}
  for (const test of known.keys()) {
    const hooks = perTest[hooksOf(test.slice(0, test.indexOf('#')))] ?? {}
    const own = perTest[test] ?? {}
    all[test] = { ...hooks, ...own }
  }
  return { static: loaded, perTest: all }
}
