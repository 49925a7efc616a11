import { spawn, type ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { type Doorbell, socketDoorbell } from '../link/doorbell.ts'
import { Socket } from '../link/socket.ts'
import { socketPair, closeDescriptor } from '@tenon/pools/internal'
import { operations, writeHeader, HEADER_SIZE } from '../wire/frame.ts'
import type { TurnWords } from './turn-words.ts'

/** The descriptors of an executor when it starts. */
export const INHERITED = { control: 3, words: 4, bell: 5 } as const

/** The variable that tells a program that it is an executor: the path, its number, and how many there are. */
export const EXECUTOR_VARIABLE = 'TENON_DRIVER_EXECUTOR'

/** The unit of processor time in /proc, which is the same for all processors that Linux supports. */
const MILLISECONDS_PER_TICK = 10

/** The end of an executor. */
export interface ExecutorEnd {
  readonly exitCode: number | null
  readonly signal: NodeJS.Signals | null
  /** The reason why the front has killed it. */
  readonly reason: string | undefined
}

/** An executor, as its front sees it: a process that runs the same program. */
export class ExecutorProcess {
  readonly words: TurnWords
  /** Whether the program has come to serve. */
  isReady = false
  readonly #control: Socket
  readonly #child: ChildProcess
  readonly #bell: Doorbell
  #reason: string | undefined

  /**
   * @param identity the value of {@link EXECUTOR_VARIABLE}.
   * @param memory the descriptor of the words, which the caller keeps.
   * @param onWake called when the executor begins a turn while nobody watches its words.
   */
  constructor(
    identity: string,
    words: TurnWords,
    memory: number,
    onWake: () => void,
    onEnd: (end: ExecutorEnd) => void,
  ) {
    this.words = words
    words.clear()
    const [mine, theirs] = socketPair('messages')
    this.#control = new Socket(mine)
    this.#bell = socketDoorbell(
      () => {
        this.isReady = true
        onWake()
      },
      () => {},
    )
    const [bell] = this.#bell.attachments as readonly number[]
    try {
      this.#child = spawn(process.execPath, [...process.execArgv, '--expose-gc', ...process.argv.slice(1)], {
        stdio: ['ignore', 'inherit', 'inherit', theirs, memory, bell!],
        // Large blocks have mappings of their own, which are given back when they are freed.
        env: { ...process.env, MALLOC_MMAP_THRESHOLD_: '65536', [EXECUTOR_VARIABLE]: identity },
      })
    } finally {
      closeDescriptor(theirs)
      this.#bell.sent()
    }
    let isOver = false
    const end = (exitCode: number | null, signal: NodeJS.Signals | null): void => {
      if (isOver) return
      isOver = true
      this.#bell.close()
      this.#control.close()
      onEnd({ exitCode, signal, reason: this.#reason })
    }
    this.#child.once('exit', end)
    this.#child.once('error', () => end(null, null))
  }

  /** Whether the executor computes or waits for a processor, and its processor time in milliseconds. Undefined where the system does not say. */
  usage(): { isRunnable: boolean; time: number } | undefined {
    try {
      const text = readFileSync(`/proc/${this.#child.pid}/stat`, 'utf8')
      // The name before these fields may contain any character.
      const [state, ...fields] = text.slice(text.lastIndexOf(')') + 2).split(' ')
      return { isRunnable: state === 'R', time: (Number(fields[10]) + Number(fields[11])) * MILLISECONDS_PER_TICK }
    } catch {
      return undefined
    }
  }

  /** Passes the socket of a client on, which the caller keeps. @throws {PeerGone} @throws {PoolsError} if it cannot */
  adopt(number: number, client: number): void {
    writeHeader(this.#control.sent.view, HEADER_SIZE, { operation: operations.ADOPT, id: number, descriptors: 1 })
    this.#control.send(HEADER_SIZE, [client], 0)
  }

  /** Ends it at once. Its clients learn of the reason. */
  kill(reason: string): void {
    this.#reason ??= reason
    this.#child.kill('SIGKILL')
  }
}
