import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { buildModel } from '../src/model/build-model.ts'
import { createPool, type Pool } from '@tenon/pools'
import { spawnDriver } from '../src/client/spawn-driver.ts'
import type { Driver, PreparedModel } from '../src/driver/driver-client.ts'
import koffi from 'koffi'

/** The other end. */
export const script: string = fileURLToPath(new URL('./echo.js', import.meta.url))

/** One way to have another process look at a payload, opened for a size. */
export interface Transport {
  /** One round trip; a transport of the event loop returns a promise. */
  readonly call: () => unknown
  /** The same, after the producer's payload is copied to where the other process sees it. */
  readonly callWithCopy: () => unknown
  readonly close: () => Promise<void>
}

/** Ends a child process. */
export const end = async (child: ChildProcess): Promise<void> => {
  child.kill()
  await once(child, 'exit')
}

/** Round trips before the first that counts. */
const warmup = (byteSize: number): number => (byteSize > 2 ** 22 ? 200 : 20_000)

/** Ours: a registered pool and a driver in a child process. */
export async function openPools(byteSize: number): Promise<Transport & { readonly callAsync: () => Promise<unknown> }> {
  const driver: Driver = await spawnDriver({ command: [process.execPath, script, 'driver'] })
  const model = buildModel((g) => {
    const x = g.input('TENSOR_QUANT8_ASYMM', [byteSize], { scale: 1 })
    g.output(g.operation('TOUCH', [x], { type: 'TENSOR_FLOAT32', dimensions: [1] }))
  })
  const prepared: PreparedModel = await driver.prepare(model)
  const pool: Pool<'writable'> = createPool(byteSize + 64)
  const args = { inputs: [pool.slice(0, byteSize)], outputs: [pool.slice(Math.ceil(byteSize / 4) * 4, 4)] }
  const payload = Buffer.alloc(byteSize, 1)
  // A driver serves for hours: what is measured is its compiled code, on both sides.
  for (let i = 0; i < warmup(byteSize); i++) prepared.run(args)
  for (let i = 0; i < warmup(byteSize) / 4; i++) await prepared.runAsync(args)
  return {
    call: () => prepared.run(args),
    callAsync: () => prepared.runAsync(args),
    callWithCopy: () => {
      pool.write(0, payload)
      return prepared.run(args)
    },
    close: async () => {
      await driver.closeAsync()
      pool.close()
    },
  }
}

const libc = koffi.load('libc.so.6')
const memfd = libc.func('int memfd_create(const char *, unsigned int)')
const ftruncate = libc.func('int ftruncate(int, size_t)')
const mmap = libc.func('uintptr_t mmap(uintptr_t, size_t, int, int, int, size_t)')
const munmap = libc.func('int munmap(uintptr_t, size_t)')
const close = libc.func('int close(int)')
const socketpair = libc.func('int socketpair(int, int, int, uintptr_t)')
const recv = libc.func('int64_t recv(int, uintptr_t, size_t, int)')
const send = libc.func('int64_t send(int, uintptr_t, size_t, int)')

/** Types of sockets. */
export const STREAM = 1
const [SEQPACKET, CLOEXEC] = [5, 0o2000000]

/** Shared memory and a child that has it and one end of a socket, made with nothing but koffi. */
export function bareChild(
  mode: string,
  byteSize: number,
  type: number,
): { child: ChildProcess; socket: number; memory: ArrayBuffer; free: () => void } {
  const sockets = new Int32Array(new ArrayBuffer(8))
  socketpair(1, type | CLOEXEC, 0, Number(koffi.address(sockets.buffer)))
  const memoryDescriptor: number = memfd('bare', 1)
  ftruncate(memoryDescriptor, byteSize)
  const address = Number(mmap(0, byteSize, 3, 1, memoryDescriptor, 0))
  const memory = koffi.view(BigInt(address), byteSize)
  new Uint8Array(memory).fill(1)
  const child = spawn(process.execPath, [script, mode, String(byteSize)], {
    stdio: ['ignore', 'inherit', 'inherit', sockets[1]!, memoryDescriptor],
  })
  close(sockets[1]!)
  close(memoryDescriptor)
  return {
    child,
    socket: sockets[0]!,
    memory,
    free: () => {
      memory.transfer(0)
      munmap(address, byteSize)
    },
  }
}

/**
 * The least that blocking round trips over shared memory can be from Node: koffi's calls of send and recv.
 *
 * @param touched the bytes from the start of the payload whose pages the other process reads
 */
export async function openBare(byteSize: number, touched: number = byteSize): Promise<Transport> {
  const { child, socket, memory, free } = bareChild('bare', byteSize, SEQPACKET)
  const message = new ArrayBuffer(64)
  const [view, address] = [new DataView(message), Number(koffi.address(message))]
  const bytes = new Uint8Array(memory)
  const payload = Buffer.alloc(byteSize, 1)
  const call = (): unknown => {
    view.setUint32(0, touched, true)
    send(socket, address, 64, 0)
    recv(socket, address, 64, 0)
    return view.getFloat64(8, true)
  }
  return {
    call,
    callWithCopy: () => {
      bytes.set(payload)
      return call()
    },
    close: async () => {
      close(socket)
      await end(child)
      free()
    },
  }
}

/** The least that round trips of the event loop can be: a byte each way over a socket of `net`. */
export async function openDoorbell(byteSize: number): Promise<Transport> {
  const { child, socket, memory, free } = bareChild('doorbell', byteSize, STREAM)
  const stream = new Socket({ fd: socket, readable: true, writable: true })
  let answer = (): void => {}
  stream.on('data', () => answer())
  const bytes = new Uint8Array(memory)
  const payload = Buffer.alloc(byteSize, 1)
  const call = (): Promise<void> =>
    new Promise((resolve) => {
      answer = resolve
      stream.write('x')
    })
  return {
    call,
    callWithCopy: () => {
      bytes.set(payload)
      return call()
    },
    close: async () => {
      stream.destroy()
      await end(child)
      free()
    },
  }
}
