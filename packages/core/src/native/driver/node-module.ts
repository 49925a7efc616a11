import { basename, dirname, resolve } from 'node:path'
import { libraryFileName } from '../locate.ts'
import { checkAbi } from './check-abi.ts'
import type { DriverBase } from './driver-base.ts'

/** An open watch of a descriptor. It must not be used after it was closed. */
declare const watchTag: unique symbol
export interface Watch {
  readonly [watchTag]: true
}

/** The states of a watch: closed, and open with or without keeping the event loop running. */
export const WATCH = { CLOSED: 0, REFERENCED: 1, UNREFERENCED: 2 } as const

/** The module that Node.js loads. It is written in `csrc/node/tenon_node.c`. */
export interface NodeModule {
  readonly abiVersion: number
  readonly openCore: number
  readonly findSymbol: number
  /** 1 on the first thread of the process, 0 on other threads, -1 if the system does not tell. */
  readonly isFirstThread: number
  caller(frame: ArrayBuffer): () => void
  address(memory: ArrayBufferLike | ArrayBufferView): number | undefined
  text(address: number): string
  boundedText(address: number, limit: number): string | undefined
  buffer(address: number, byteSize: number, owner: number | ArrayBuffer): ArrayBuffer
  /** The number of buffers of this thread over parts of buffers. */
  parts(): number
  /** A SharedArrayBuffer over a mapping of a descriptor; undefined if this version of Node.js cannot make one. Not on Windows. */
  sharedBuffer?(descriptor: number, byteOffset: number, byteSize: number): SharedArrayBuffer | undefined
  /**
   * The handle of zeroed memory that threads share, or of a mapping, which it owns from then on. 0 if memory is exhausted; undefined if
   * this version of Node.js cannot share native memory. Not on Windows.
   */
  openRange?(byteSize: number, byteAlignment: number, mapping: number): number | undefined
  /** A buffer over a part of an open range, which keeps the range. */
  rangeBuffer?(range: number, byteOffset: number, byteSize: number): SharedArrayBuffer
  closeRange?(range: number): void
  /** Windows has no watches. */
  watch?(descriptor: number, whenReadable: () => void): Watch
  setWatch(watch: Watch, state: (typeof WATCH)[keyof typeof WATCH]): void
  open(frame: ArrayBuffer, dispatch: () => void, abiVersion: number): void
  enter(): void
  /**
   * Performs the call of the frame with strings as arguments, whose places are in the frame. Returns the text that the function returns:
   * null for the null pointer, and undefined if it returns none, or one that is too long.
   */
  enterWithTexts(...strings: readonly unknown[]): string | null | undefined
  /** Returns a function that calls an entry. See the methods of `ThreadDriver`. */
  entry(index: number, address: bigint, takesText: boolean, returnsText: boolean): (text?: string) => string | undefined
  serve(): void
  keepAlive(wanted: boolean): void
}

/** Node-API. Nothing of it ends the process if its thread is terminated meanwhile. */
export interface ModuleDriver extends DriverBase {
  readonly kind: 'node-api'
  readonly module: NodeModule
}

export const modulePath = (core: string): string => resolve(dirname(core), 'tenon.node')

/** Loads the module beside a library of the core, and with it the library. @throws the message of the system's loader, {LoadError} */
export function openModule(core: string): ModuleDriver {
  const name = libraryFileName('tenon')
  // The loader takes the library from the directory of the module by this name.
  if (basename(core) !== name) throw new Error(`tenon.node works only with a core that is named ${name}`)
  const loaded = { exports: {} as NodeModule }
  process.dlopen(loaded, modulePath(core))
  const module = loaded.exports
  checkAbi(core, module.abiVersion)
  return {
    kind: 'node-api',
    module,
    openCore: module.openCore,
    findSymbol: module.findSymbol,
    caller: module.caller,
    addressOf: (memory) => module.address(memory) ?? module.address(new Uint8Array(memory as SharedArrayBuffer))!,
    textAt: module.text,
    boundedTextAt: module.boundedText,
    bufferOver: (address, byteSize, owner = 0) => module.buffer(address, byteSize, owner),
  }
}
