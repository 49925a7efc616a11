import { Socket } from 'node:net'
import { isMainThread } from 'node:worker_threads'
import { checkStatus, coreFunctions } from './core-library.ts'
import { addressOf, pollDescriptor, type ReadableWatch } from './driver.ts'

/**
 * Calls `whenReadable` from the event loop whenever a file descriptor is readable.
 *
 * koffi's poll crashes the process if it fires while its thread is torn down, and a worker can be terminated at any moment. So in
 * workers a thread of the core watches the descriptor and writes to a socket that Node.js reads.
 *
 * @throws {NativeError} if the descriptor is not valid, or the system has no socket or thread left.
 */
export function pollReadable(descriptor: number, whenReadable: () => void): ReadableWatch {
  return isMainThread ? watchInLoop(descriptor, whenReadable) : watchByThread(descriptor, whenReadable)
}

/** The open watches of this thread, which are closed before it ends. */
const open = new Set<ReadableWatch>()
let isListening = false

function watchInLoop(descriptor: number, whenReadable: () => void): ReadableWatch {
  const handle = pollDescriptor(descriptor, whenReadable)
  const watch: ReadableWatch = {
    ref: () => handle.ref(),
    unref: () => handle.unref(),
    close(): void {
      if (open.delete(watch)) handle.close()
    },
  }
  open.add(watch)
  if (!isListening) process.once('exit', closeAll)
  isListening = true
  return watch
}

function closeAll(): void {
  for (const watch of open) watch.close()
}

/** The message that makes the thread poll again. */
const again = Buffer.of(1)

function watchByThread(descriptor: number, whenReadable: () => void): ReadableWatch {
  const out = new Int32Array(1)
  checkStatus(coreFunctions().tn_watch_open(descriptor, addressOf(out)), 'watching a descriptor')
  const socket = new Socket({ fd: out[0]!, readable: true, writable: true })
  socket.on('data', () => {
    whenReadable()
    if (!socket.destroyed) socket.write(again)
  })
  socket.unref()
  return {
    ref: () => void socket.ref(),
    unref: () => void socket.unref(),
    close: () => void socket.destroy(),
  }
}
