import { NativeError, UnsupportedError } from '../../errors/kinds.ts'
import { detachBuffer } from '../../memory/array-buffer.ts'
import { coreLibrary } from '../core-library.ts'
import { addressOf, keepAlive } from '../native-memory.ts'

/**
 * Returns an ArrayBuffer over native memory, which must outlive it. Callers make one for each block: creating one is slow, and
 * detaching one does not detach others over the same memory.
 *
 * @param owner the guarded block that has the memory, if the garbage collector is to free it with the buffer; or the buffer that has
 * the memory, which stays alive until then. Both follow the memory if a user transfers the buffer. koffi ignores the owner.
 * @throws {UnsupportedError} if the runtime does not allow such buffers, as Electron does not. @throws {NativeError} if the engine refuses.
 */
export function bufferOver(address: number, byteSize: number, owner?: number | ArrayBuffer): ArrayBuffer {
  try {
    return coreLibrary().driver.bufferOver(address, byteSize, owner)
  } catch (cause) {
    const { message } = cause as Error
    const sentence = `no buffer over native memory can be made: ${message}`
    const details = { byteSize }
    if (isForbidden(message)) throw new UnsupportedError(sentence, { hint: FORBIDDEN, details, cause })
    throw new NativeError(sentence, { hint: REFUSED, details, cause })
  }
}

const FORBIDDEN =
  'In Electron, copy into memory of scopes, or do native work in a process of plain Node.js, to which the program sends messages.'
const REFUSED = 'Use less memory at once, because the buffers of the runtime have a largest size: 4 GiB in Bun.'

/** Whether `tenon.node` or koffi say that the runtime has no such buffers at all. */
const isForbidden = (message: string): boolean => message.includes('external buffers')

let known: boolean | undefined

/** Whether this thread can make buffers over native memory. Without them, native memory is copied. */
export function hasNativeBuffers(): boolean {
  return (known ??= canMakeBuffer())
}

function canMakeBuffer(): boolean {
  const memory = new Uint8Array(16)
  try {
    // The buffer is detached at once, and the memory outlives it.
    detachBuffer(bufferOver(addressOf(memory.buffer), memory.length))
    return true
  } catch (error) {
    if (error instanceof UnsupportedError || error instanceof NativeError) return false
    throw error
  } finally {
    keepAlive(memory)
  }
}

/**
 * Returns a buffer as {@link bufferOver}, and frees the memory if it cannot be made.
 *
 * @throws as {@link bufferOver}.
 */
export function bufferOrFree(address: number, byteSize: number, free: (address: number) => void): ArrayBuffer {
  try {
    return bufferOver(address, byteSize)
  } catch (error) {
    free(address)
    throw error
  }
}
