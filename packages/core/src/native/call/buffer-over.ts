import { NativeError } from '../../errors/kinds.ts'
import { coreLibrary } from '../core-library.ts'

/**
 * Returns an ArrayBuffer over native memory, which must outlive it. Callers make one for each block: creating one is slow, and
 * detaching one does not detach others over the same memory.
 *
 * @param owner the guarded block that has the memory, if the garbage collector is to free it with the buffer; or the buffer that has
 * the memory, which stays alive until then. Both follow the memory if a user transfers the buffer. koffi ignores the owner.
 * @throws {NativeError} if the runtime does not support such buffers, as Electron does not.
 */
export function bufferOver(address: number, byteSize: number, owner?: number | ArrayBuffer): ArrayBuffer {
  try {
    return coreLibrary().driver.bufferOver(address, byteSize, owner)
  } catch (cause) {
    throw new NativeError(`no buffer over native memory can be made: ${(cause as Error).message}`, {
      hint: 'In Electron, copy into memory of scopes, or do native work in a process of plain Node.js.',
      details: { byteSize },
      cause,
    })
  }
}

/**
 * Returns a buffer as {@link bufferOver}, and frees the memory if it cannot be made.
 *
 * @throws {NativeError} as {@link bufferOver}.
 */
export function bufferOrFree(address: number, byteSize: number, free: (address: number) => void): ArrayBuffer {
  try {
    return bufferOver(address, byteSize)
  } catch (error) {
    free(address)
    throw error
  }
}
