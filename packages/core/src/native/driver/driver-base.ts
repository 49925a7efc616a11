/** The functions that calls of the core need. Both drivers provide them, also before the driver of the thread is open. */
export interface DriverBase {
  /** The address of `tn_library_open_core`. */
  readonly openCore: number
  /** The address of `tn_library_symbol`, with which all other functions are found. */
  readonly findSymbol: number
  /** Returns a function that performs the call that a frame describes, on the stack of its caller. */
  caller(frame: ArrayBuffer): () => void
  /** The address of memory, which the caller keeps alive and attached while the address is used. */
  addressOf(memory: ArrayBufferLike | ArrayBufferView): number
  /** A copy of NUL-terminated UTF-8. The address is valid, and not 0. */
  textAt(address: number): string
  /** The same, or undefined if there is no terminator in `limit` bytes. Node-API only, where it is faster than calls of the core. */
  boundedTextAt?(address: number, limit: number): string | undefined
  /** Returns an ArrayBuffer over native memory. See `bufferOver`. */
  bufferOver(address: number, byteSize: number, owner?: number | ArrayBuffer): ArrayBuffer
}

/** The fallback, koffi. It performs the same frames, but ends the process if its worker is terminated while koffi is loaded. */
export interface KoffiDriver extends DriverBase {
  readonly kind: 'koffi'
  /** Why `tenon.node` is not in use. */
  readonly reason: string
  /** Returns an address at which native code of this thread can call `callback`, until the process ends. */
  registerCallback(callback: () => number): number
}
