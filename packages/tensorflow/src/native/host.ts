import { LoadError } from '@tenon/core'
import {
  addressOf,
  coreFunctions,
  functionsIn,
  keepAlive,
  lastError,
  libraryFunctions,
  siblingPath,
} from '@tenon/core/internal'
import { enteredFunctions, type EnteredFunctions, type HostFunctions } from './entered.ts'

/** The library that has TensorFlow's C API for kernels. */
export interface Host {
  readonly functions: Omit<HostFunctions, keyof EnteredFunctions | 'tn_tf_run'>
  readonly entered: EnteredFunctions
  /** The address of the entry that runs a call. */
  readonly run: number
}

/** The names by which libraries need TensorFlow. The host has the first one. */
export const SONAMES: readonly [framework: string, distribution: string] =
  process.platform === 'darwin'
    ? ['libtensorflow_framework.2.dylib', 'libtensorflow.2.dylib']
    : ['libtensorflow_framework.so.2', 'libtensorflow.so.2']

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
  return { functions, entered: enteredFunctions(hostAddress), run: hostAddress('tn_tf_run') }
}
