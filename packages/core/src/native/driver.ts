import { createRequire } from 'node:module'
import type koffiModule from 'koffi'

/**
 * The binding of the FFI driver. This is the only file that imports koffi.
 *
 * koffi is loaded at first use, so that importing a package has no side effects.
 */
type Koffi = typeof koffiModule

let loaded: Koffi | undefined

function koffi(): Koffi {
  if (loaded === undefined) {
    loaded = createRequire(import.meta.url)('koffi') as Koffi
    try {
      loaded.config({ sync_stack_size: STACK_SIZE })
    } catch {
      // The application has loaded a library with this koffi already, so its settings stay.
    }
  }
  return loaded
}

/** The stack size of native code in bytes, as large as a thread's. Kernels overflow koffi's default of 128 KiB. */
const STACK_SIZE = 8 * 2 ** 20

/** The types of a C signature, by koffi's names. Pointers are passed as `uintptr_t` numbers. */
export type CType =
  | 'void'
  | 'bool'
  | 'int8_t'
  | 'uint8_t'
  | 'int16_t'
  | 'uint16_t'
  | 'int32_t'
  | 'uint32_t'
  | 'int64_t'
  | 'uint64_t'
  | 'uintptr_t'
  | 'float'
  | 'double'

/** A C function. It takes numbers and returns a number, or a bigint above 2^53. */
export type CFunction = (...values: unknown[]) => never

/** Returns the address of a buffer. The caller keeps the buffer alive and attached while the address is used. */
export function addressOf(buffer: ArrayBufferLike | ArrayBufferView): number {
  return Number(koffi().address(buffer))
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

/**
 * Opens a library whose symbols all libraries that are loaded later can see. @throws the message of the system's loader.
 *
 * @returns a function that declares the functions of the library.
 */
export function loadGlobally(path: string): (name: string, result: CType, parameters: readonly CType[]) => CFunction {
  const library = koffi().load(path, { global: true })
  return (name, result, parameters) => library.func(name, result, [...parameters]) as unknown as CFunction
}

/** Returns an address at which native code of this thread can call `callback`, until the process ends. */
export function registerCallback(callback: () => number): number {
  const k = koffi()
  return Number(k.register(callback, k.pointer(k.proto('int32_t', []))))
}

/** A watch of a descriptor. It keeps the process alive after `ref()`. */
export interface ReadableWatch {
  ref(): void
  unref(): void
  /** Idempotent. */
  close(): void
}

/** No-op: scheduling it wakes the event loop. */
function goOn(): void {}

/**
 * Calls `whenReadable` from the event loop whenever a file descriptor is readable. Keeps the process alive after `ref()`.
 * Use this function only on the main thread (see `pollReadable`).
 */
export function pollDescriptor(descriptor: number, whenReadable: () => void): ReadableWatch {
  const handle = koffi().node.poll(descriptor, { readable: true }, () => {
    // From Node.js 26 on, promise reactions of this callback run only after something else wakes the event loop.
    setImmediate(goOn)
    whenReadable()
  })
  handle.unref()
  return handle
}

/** Copies a NUL-terminated UTF-8 string from native memory. The caller guarantees that the address is valid. */
export function stringAt(address: number): string {
  return address === 0 ? '' : koffi().decode.string(BigInt(address))
}

/** Returns an ArrayBuffer over native memory, which outlives it. See `bufferOver`. */
export function viewMemory(address: number, byteSize: number): ArrayBuffer {
  return koffi().view(BigInt(address), byteSize)
}
