import { NativeError } from '../errors/kinds.ts'
import { checkStatus, coreFunctions, coreLibrary } from './core-library.ts'
import { type ModuleDriver, WATCH } from './driver/node-module.ts'
import { addressOf } from './native-memory.ts'

/** A watch of a descriptor. It keeps the process alive after `ref()`. */
export interface ReadableWatch {
  ref(): void
  unref(): void
  /** Idempotent. */
  close(): void
}

/**
 * Calls `whenReadable` from the event loop whenever a file descriptor is readable, until the watch is closed or the thread ends. A
 * descriptor can have one watch at a time.
 *
 * @throws {NativeError} if the descriptor is not valid, or the system has no socket or thread left.
 */
export function pollReadable(descriptor: number, whenReadable: () => void): ReadableWatch {
  const { driver } = coreLibrary()
  return driver.kind === 'node-api'
    ? watchByModule(driver.module, descriptor, whenReadable)
    : watchByThread(descriptor, whenReadable)
}

function watchByModule(module: ModuleDriver['module'], descriptor: number, whenReadable: () => void): ReadableWatch {
  if (module.watch === undefined) throw new NativeError('descriptors cannot be watched on this system')
  let watch
  try {
    watch = module.watch(descriptor, whenReadable)
  } catch (cause) {
    throw new NativeError(`watching a descriptor failed: ${(cause as Error).message}`, {
      details: { descriptor },
      cause,
    })
  }
  let open: typeof watch | undefined = watch
  const set = (state: (typeof WATCH)[keyof typeof WATCH]): void => {
    if (open !== undefined) module.setWatch(open, state)
    if (state === WATCH.CLOSED) open = undefined
  }
  return {
    ref: () => set(WATCH.REFERENCED),
    unref: () => set(WATCH.UNREFERENCED),
    close: () => set(WATCH.CLOSED),
  }
}

/** The message that makes the thread poll again. */
const again = Buffer.of(1)

/** A thread of the core watches the descriptor and writes to a socket, which Node.js reads. */
function watchByThread(descriptor: number, whenReadable: () => void): ReadableWatch {
  const out = new Int32Array(1)
  checkStatus(coreFunctions().tn_watch_open(descriptor, addressOf(out)), 'watching a descriptor')
  // Loaded here, because only this fallback needs it, and loading takes 3 ms.
  const { Socket } = process.getBuiltinModule('node:net')
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
