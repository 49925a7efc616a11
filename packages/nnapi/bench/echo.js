// The other end of the bench, in a process of its own: each transport touches one byte of every page of the payload.
import { Socket } from 'node:net'
import { workerData } from 'node:worker_threads'
import { cpuKernels } from '../src/kernels/cpu-kernels.ts'
import { serveDriver } from '../src/server/serve-driver.ts'
import koffi from 'koffi'

const PAGE = 4096

function touch(bytes, size) {
  let sum = 0
  for (let i = 0; i < size; i += PAGE) sum += bytes[i]
  return sum
}

/** Bare koffi over bare seqpacket: the request is a size, the answer is 16 bytes. */
function bare() {
  const libc = koffi.load('libc.so.6')
  const recv = libc.func('int64_t recv(int, uintptr_t, size_t, int)')
  const send = libc.func('int64_t send(int, uintptr_t, size_t, int)')
  const bytes = map(libc)
  const message = new ArrayBuffer(64)
  const [view, address] = [new DataView(message), Number(koffi.address(message))]
  while (recv(3, address, 64, 0) > 0) {
    view.setFloat64(8, touch(bytes, view.getUint32(0, true)), true)
    send(3, address, 16, 0)
  }
}

/** The memory whose descriptor is 4. */
function map(libc) {
  const size = Number(process.argv[3])
  const mmap = libc.func('uintptr_t mmap(uintptr_t, size_t, int, int, int, size_t)')
  return new Uint8Array(koffi.view(BigInt(mmap(0, size, 1, 1, 4, 0)), size))
}

const modes = {
  bare,
  /** A byte on a stream, seen by the event loop. */
  doorbell() {
    const bytes = map(koffi.load('libc.so.6'))
    const socket = new Socket({ fd: 3, readable: true, writable: true })
    socket.on('data', () => {
      touch(bytes, bytes.length)
      socket.write('x')
    })
  },
  /** Bytes on a stream: as many as the payload has, again and again. */
  bytes() {
    const size = Number(process.argv[3])
    const socket = new Socket({ fd: 3, readable: true, writable: true })
    let missing = size
    socket.on('data', (chunk) => {
      touch(chunk, chunk.length)
      missing -= chunk.length
      if (missing > 0) return
      missing = size
      socket.write('x')
    })
  },
  advanced() {
    process.on('message', (message) => process.send(touch(message, message.length)))
  },
  json() {
    process.on('message', (message) => {
      const bytes = Buffer.from(message, 'base64')
      process.send(touch(bytes, bytes.length))
    })
  },
  /** A thread: the first number says whose turn it is, the second is the answer. */
  shared() {
    const { memory, turns } = workerData
    const bytes = new Uint8Array(memory)
    for (let turn = 1; ; turn++) {
      while (Atomics.load(turns, 0) !== turn) Atomics.wait(turns, 0, turn - 1)
      touch(bytes, bytes.length)
      Atomics.store(turns, 1, turn)
      Atomics.notify(turns, 1)
    }
  },
  driver() {
    const touching = {
      plan: () => ({
        dimensions: [[1]],
        run: ([from], [to]) => new DataView(to.buffer, to.byteOffset, 4).setFloat32(0, touch(from, from.length), true),
      }),
    }
    serveDriver({ kernels: new Map([...cpuKernels, ['TOUCH', touching]]) })
  },
}
modes[process.argv[2]]()
