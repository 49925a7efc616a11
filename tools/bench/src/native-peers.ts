/** The peers of calls of native functions: a hand-written addon, and the FFI of the runtime. */
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

/** The types of {@link ofRuntimeFfi}. Each runtime has its own names for them. */
type FfiType = 'int32' | 'int64' | 'float64' | 'buffer' | 'function'

interface FfiFunction {
  readonly symbol: string
  readonly result: FfiType
  readonly parameters: readonly FfiType[]
}

/** A function of a library, and how a function of JavaScript becomes an argument of the type `function`. */
interface Bound {
  call(...values: unknown[]): unknown
  callback(result: FfiType, parameters: readonly FfiType[], run: (...values: never[]) => unknown): unknown
}

/** The parts of `bun:ffi` and `Deno` that are used here. */
interface BunFfi {
  dlopen(path: string, symbols: object): { symbols: Record<string, Bound['call']> }
  JSCallback: new (run: unknown, type: object) => { readonly ptr: unknown }
}
interface DenoFfi {
  dlopen(path: string, symbols: object): { symbols: Record<string, Bound['call']> }
  UnsafeCallback: new (type: object, run: unknown) => { readonly pointer: unknown }
}

const bunTypes = { int32: 'i32', int64: 'i64_fast', float64: 'f64', buffer: 'ptr', function: 'ptr' }
const denoTypes = { int32: 'i32', int64: 'i64', float64: 'f64', buffer: 'buffer', function: 'pointer' }
const nodeTypes = { int32: 'int32', int64: 'int64', float64: 'double', buffer: 'buffer', function: 'pointer' }

const bun = process.getBuiltinModule('bun:ffi') as BunFfi | undefined
const deno = (globalThis as { Deno?: DenoFfi }).Deno

/**
 * Returns the FFI of this runtime as a peer of a row: `bun:ffi`, `Deno.dlopen` or `node:ffi`, or nothing where there is none.
 *
 * @param makeBody gets the function, which is called with numbers, buffers and callbacks.
 */
export function ofRuntimeFfi<Body>(
  path: string,
  { symbol, result, parameters }: FfiFunction,
  makeBody: (bound: Bound) => Body,
): Readonly<Record<string, Body>> {
  if (bun !== undefined) {
    const type = { args: parameters.map((name) => bunTypes[name]), returns: bunTypes[result] }
    const callback: Bound['callback'] = (returned, args, run) =>
      new bun.JSCallback(run, { args: args.map((name) => bunTypes[name]), returns: bunTypes[returned] }).ptr
    return { 'bun:ffi': makeBody({ call: bun.dlopen(path, { [symbol]: type }).symbols[symbol]!, callback }) }
  }
  if (deno !== undefined) {
    const type = { parameters: parameters.map((name) => denoTypes[name]), result: denoTypes[result] }
    const callback: Bound['callback'] = (returned, args, run) =>
      new deno.UnsafeCallback({ parameters: args.map((name) => denoTypes[name]), result: denoTypes[returned] }, run)
        .pointer
    return { 'Deno.dlopen': makeBody({ call: deno.dlopen(path, { [symbol]: type }).symbols[symbol]!, callback }) }
  }
  const signatureOf = (returned: FfiType, args: readonly FfiType[]): FfiSignature => ({
    return: nodeTypes[returned],
    arguments: args.map((name) => nodeTypes[name]),
  })
  return ofNodeFfi(path, (library) =>
    makeBody({
      call: library.getFunction(symbol, signatureOf(result, parameters)) as Bound['call'],
      callback: (returned, args, run) => library.registerCallback(signatureOf(returned, args), run),
    }),
  ) as Readonly<Record<string, Body>>
}
