import { coreLibrary } from './core-library.ts'
import type { Driver } from './driver/open-driver.ts'

let known: Driver | undefined

const driver = (): Driver => (known ??= coreLibrary().driver)

/** Returns the address of memory. The caller keeps it alive and attached while the address is used. */
export function addressOf(memory: ArrayBufferLike | ArrayBufferView): number {
  return driver().addressOf(memory)
}

/** Copies a NUL-terminated UTF-8 string from native memory. The caller guarantees that the address is valid. */
export function stringAt(address: number): string {
  return address === 0 ? '' : driver().textAt(address)
}

/** The memory that {@link keepAlive} kept last. */
const kept: { memory: unknown } = { memory: undefined }

/**
 * Keeps memory alive until this call. The engine may free a buffer that no later code uses, even before a native call that reads
 * it by address, so code that allocates memory for one native call calls this after it.
 */
export function keepAlive(memory: ArrayBufferView): void {
  kept.memory = memory
}
