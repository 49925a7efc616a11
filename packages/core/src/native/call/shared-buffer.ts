import { NativeError } from '../../errors/kinds.ts'
import { coreLibrary } from '../core-library.ts'

/**
 * Maps memory and returns a SharedArrayBuffer over it. The descriptor may be closed afterwards. The memory stays mapped as long as
 * a thread has the buffer.
 *
 * @returns undefined where the runtime cannot make such buffers: Node.js before 22.20, koffi, Windows.
 * @throws {NativeError} if the system refuses.
 */
export function sharedBufferOf(descriptor: number, byteSize: number): SharedArrayBuffer | undefined {
  const { driver } = coreLibrary()
  if (driver.kind === 'koffi') return undefined
  try {
    return driver.module.sharedBuffer?.(descriptor, 0, byteSize)
  } catch (cause) {
    throw new NativeError(`no SharedArrayBuffer over memory can be made: ${(cause as Error).message}`, {
      details: { byteSize },
      cause,
    })
  }
}
