import { LoadError } from '@tenon/core'
import {
  addressOf,
  coreFunctions,
  enteredFunctions,
  functionsIn,
  keepAlive,
  lastError,
  libraryFunctions,
  siblingPath,
  type Entered,
  type LibraryFunctions,
  type PlainFunction,
} from '@tenon/core/internal'

/** The functions that run code of kernels. */
type EnteredName =
  | 'tn_tf_create'
  | 'tn_tf_delete'
  | 'tn_tf_end_exception'
  | 'tn_tf_initialize'
  | 'tn_tf_memory_release'
  | 'tn_tf_take'

const ENTERED: Entered<EnteredName> = {
  tn_tf_create: ['int32', 3],
  tn_tf_delete: ['int32', 1],
  tn_tf_end_exception: ['int32', 2],
  tn_tf_initialize: ['int32', 1],
  tn_tf_memory_release: ['int32', 1],
  tn_tf_take: ['int32', 1],
}

/** The library that has TensorFlow's C API for kernels. */
export interface Host {
  readonly functions: Omit<LibraryFunctions<'tenon_tensorflow'>, EnteredName | 'tn_tf_run'>
  readonly entered: Readonly<Record<EnteredName, PlainFunction>>
  /** The address of the entry that runs a call. */
  readonly run: number
}

/** The names by which libraries need TensorFlow. The host has the first one. */
export const SONAMES: readonly [framework: string, distribution: string] =
  process.platform === 'darwin'
    ? ['libtensorflow_framework.2.dylib', 'libtensorflow.2.dylib']
    : ['libtensorflow_framework.so.2', 'libtensorflow.so.2']

/** Returns the bytes that native code writes, whose length can grow between two calls. @param write leaves their length */
export function readBytes(capacity: number, write: (out: number, capacity: number, length: number) => void): Buffer {
  const length = new BigUint64Array(1)
  for (let size = capacity; ; size = Number(length[0]) * 2) {
    const out = Buffer.alloc(size)
    write(addressOf(out), size, addressOf(length))
    if (Number(length[0]) <= size) return out.subarray(0, Number(length[0]))
  }
}

let opened: Host | undefined

/** The host, once a library needed it. */
export const openedHost = (): Host | undefined => (opened ??= findHost())

/** Opens the host, whose symbols later libraries find by its soname. @throws {LoadError} if it is missing or does not load */
export function openHost(): Host {
  return (opened ??= findHost() ?? hostOf(openFile(siblingPath('tenon_tensorflow')))!)
}

/** Makes the symbols of the host visible to later libraries, and itself to those that need the C distribution. @throws {LoadError} */
export function openHostGlobally(): Host {
  libraryFunctions('tenon_tensorflow')
  return openHost()
}

/** Opens the library that stands for TensorFlow's C distribution. It has no functions. @throws {LoadError} */
export function openDistribution(): void {
  openFile(siblingPath('tenon_tensorflow').replace('tenon_tensorflow', 'tenon_tensorflow_c'))
}

/** Whether this process has TensorFlow itself, to which kernels would register. */
export function hasTensorFlow(): boolean {
  return SONAMES.some((name) => loaded(name) !== 0) && openedHost() === undefined
}

function findHost(): Host | undefined {
  const handle = loaded(SONAMES[0])
  return handle === 0 ? undefined : hostOf(handle)
}

/** Returns the handle of a library that this process has loaded, or 0. */
function loaded(name: string): number {
  const text = Buffer.from(`${name}\0`)
  const handle = Number(coreFunctions().tn_library_loaded(addressOf(text)))
  keepAlive(text)
  return handle
}

function openFile(path: string): number {
  const [name, out] = [Buffer.from(path), new BigUint64Array(1)]
  const status = coreFunctions().tn_library_open(addressOf(name), name.length, addressOf(out))
  keepAlive(name)
  if (status === 0) return Number(out[0])
  throw new LoadError(`the library ${path} could not be loaded: ${lastError()}`, { details: { path } })
}

function hostOf(handle: number): Host | undefined {
  const found = functionsIn('tenon_tensorflow', handle)
  if (found === undefined) return undefined
  const { functions, addressOf: hostAddress } = found
  return { functions, entered: enteredFunctions(ENTERED, hostAddress), run: hostAddress('tn_tf_run') }
}
