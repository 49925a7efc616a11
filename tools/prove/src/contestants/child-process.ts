import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Contestant, Offered, Setup } from '../contestant.ts'
import { type RemoteCall, remotely } from './remote-call.ts'

/** koffi in a process of its own, as a user would write it with `fork()`. */
export const childProcess: Contestant = {
  name: 'child_process',
  description: 'koffi in a process of `fork()`, which is started again after it ended',
  runtimes: ['node'],
  isRemote: true,
  open: openChild,
}

interface Waiting {
  resolve(value: unknown): void
  reject(error: Error): void
}

function openChild(setup: Setup): Offered {
  const program = fileURLToPath(new URL('koffi-process.ts', import.meta.url))
  let child: ChildProcess | undefined
  let isClosed = false
  let waiting: Waiting[] = []

  function start(): ChildProcess {
    const started = fork(program, [JSON.stringify(setup)], { serialization: 'advanced' })
    started.on('message', ({ value, error }: { value?: unknown; error?: Error }) => {
      const call = waiting.shift()!
      if (error === undefined) call.resolve(value)
      else call.reject(error)
    })
    started.once('exit', (code, signal) => {
      child = undefined
      const lost = waiting
      waiting = []
      for (const { reject } of lost) reject(new Error(`the process ended with ${signal ?? code}`))
    })
    return started
  }

  const send = (call: RemoteCall): Promise<unknown> =>
    new Promise((resolve, reject) => {
      if (isClosed) throw new Error('the process was closed')
      child ??= start()
      waiting.push({ resolve, reject })
      child.send(call)
    })

  return {
    ...remotely(send),
    spin: (milliseconds) => {
      const end = setTimeout(() => child?.kill('SIGKILL'), milliseconds)
      return send({ operation: 'spin', values: [1] }).finally(() => clearTimeout(end))
    },
    close: () => {
      isClosed = true
      child?.kill()
    },
  }
}
