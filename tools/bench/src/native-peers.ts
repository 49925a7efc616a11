/** What calls of native functions are compared with: a hand-written addon, and `node:ffi` where Node.js has it. */
import { fileURLToPath } from 'node:url'
import { loadAddon } from './addon.ts'

/** Returns the path of a library of `csrc`. */
function built(name: string): string {
  const file = `lib${name}.${process.platform === 'darwin' ? 'dylib' : 'so'}`
  return fileURLToPath(new URL(`../build/release/${file}`, import.meta.url))
}

/** The native functions of `csrc/kernels.c`. */
export const KERNELS: string = built('bench_kernels')

/** The custom calls of `csrc/pages.c`. */
export const PAGES: string = built('bench_pages')

/** The signatures that the hand-written addon of `csrc/core_addon.c` can call, in its order. */
const KINDS = [
  'none',
  'int32',
  'doubles',
  'threeInt64',
  'fourInt64',
  'eightInt64',
  'buffer',
  'bufferAndLength',
  'twoBuffersAndLength',
  'fourBuffers',
  'repeat',
  'sort',
  'integers',
  'bufferAndLengthLater',
] as const

export type AddonKind = (typeof KINDS)[number]

interface Addon {
  bind(kind: number, address: number): unknown
}

let addon: Addon | undefined

/** Returns a JavaScript function of the addon that calls the native function at an address. */
export function addonFunction<Call>(kind: AddonKind, address: bigint): Call {
  addon ??= loadAddon<Addon>('core_addon')
  return addon.bind(KINDS.indexOf(kind), Number(address)) as Call
}

interface FfiSignature {
  readonly return: string
  readonly arguments: readonly string[]
}

interface FfiLibrary {
  getFunction(symbol: string, signature: FfiSignature): unknown
  registerCallback(signature: FfiSignature, run: (...values: never[]) => unknown): bigint
}

const ffi = process.getBuiltinModule('node:ffi') as { DynamicLibrary: new (path: string) => FfiLibrary } | undefined

/** Returns `{ 'node:ffi': body }` for the peers of a row, or nothing if Node.js has no `node:ffi` (it came with Node 26). */
export function ofNodeFfi<Body>(path: string, makeBody: (library: FfiLibrary) => Body): { 'node:ffi'?: Body } {
  return ffi === undefined ? {} : { 'node:ffi': makeBody(new ffi.DynamicLibrary(path)) }
}
