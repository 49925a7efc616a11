import { fork } from 'node:child_process'
import { Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import { bareChild, end, script, STREAM, type Transport } from './round-trip.ts'

/** What Node has: the payload is copied through a pipe, in V8's format or as text. */
export async function openChildProcess(
  byteSize: number,
  serialization: 'advanced' | 'json' = 'advanced',
): Promise<Transport> {
  const child = fork(script, [serialization], { serialization })
  const payload = Buffer.alloc(byteSize, 1)
  let answer = (): void => {}
  child.on('message', () => answer())
  const call = (): Promise<void> =>
    new Promise((resolve) => {
      answer = resolve
      child.send(serialization === 'json' ? payload.toString('base64') : payload)
    })
  return { call, callWithCopy: call, close: () => end(child) }
}

/** The payload is copied through a Unix socket of `net`. */
export async function openSocket(byteSize: number): Promise<Transport> {
  const { child, socket, free } = bareChild('bytes', byteSize, STREAM)
  const stream = new Socket({ fd: socket, readable: true, writable: true })
  const payload = Buffer.alloc(byteSize, 1)
  let answer = (): void => {}
  stream.on('data', () => answer())
  const call = (): Promise<void> =>
    new Promise((resolve) => {
      answer = resolve
      stream.write(payload)
    })
  return {
    call,
    callWithCopy: call,
    close: async () => {
      stream.destroy()
      await end(child)
      free()
    },
  }
}

/** A thread of the same process: both sides wait for a number in shared memory to change. */
export async function openWorker(byteSize: number): Promise<Transport> {
  const memory = new SharedArrayBuffer(byteSize)
  const turns = new Int32Array(new SharedArrayBuffer(8))
  const bytes = new Uint8Array(memory).fill(1)
  const payload = Buffer.alloc(byteSize, 1)
  const worker = new Worker(script, { argv: ['shared'], workerData: { memory, turns } })
  await new Promise((resolve) => void worker.once('online', resolve))
  let turn = 0
  const call = (): void => {
    turn++
    Atomics.store(turns, 0, turn)
    Atomics.notify(turns, 0)
    while (Atomics.load(turns, 1) !== turn) Atomics.wait(turns, 1, turn - 1)
  }
  return {
    call,
    callWithCopy: () => {
      bytes.set(payload)
      call()
    },
    close: async () => void (await worker.terminate()),
  }
}
