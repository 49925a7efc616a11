import { existsSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { hostPlatformName } from '@tenon/binary'
import { LoadError, NativeError } from '../errors/kinds.ts'
import { FUNCTIONS } from '../generated/functions.ts'
import { STATUS, type StatusName } from '../generated/status.ts'
import { type BindCore, coreBinder } from './core-call.ts'
import { modulePath } from './driver/node-module.ts'
import { type Driver, openDriver } from './driver/open-driver.ts'
import { bindAll, type FunctionsOf } from './function-table.ts'
import { candidates, corePackage, type Candidate, libraryFileName } from './locate.ts'
import { checkDigest, type Digests, packagedDigests } from './packaged-digests.ts'
import { coreSymbols, type FindSymbol } from './symbols.ts'

export type CoreFunctions = FunctionsOf<typeof FUNCTIONS.tenon>

export interface CoreLibrary {
  readonly path: string
  readonly origin: Candidate['origin']
  readonly version: string
  readonly driver: Driver
  readonly bindCore: BindCore
  readonly find: FindSymbol
  readonly functions: CoreFunctions
  /** The digests of the files beside the core, if they are those of a published package. */
  readonly digests: Digests | undefined
}

interface Copy {
  readonly version: string
  readonly directory: string
}

/** The first copy of this package in a JavaScript realm, which later copies find. */
interface Registered extends Copy {
  readonly library: CoreLibrary
}

const registry = globalThis as { [key: symbol]: Registered | undefined }
const registryKey = Symbol.for('tenon.core')

/**
 * Returns the C core. The first call loads it before all other native code and globally, so that kernels find the functions
 * that they import.
 *
 * @throws {LoadError} that names every path that was tried, or the two copies that cannot share the process.
 */
export function coreLibrary(): CoreLibrary {
  const { version, directory } = corePackage()
  const known = registry[registryKey]
  if (known === undefined) {
    const library = load()
    registry[registryKey] = { version, directory, library }
    return library
  }
  if (known.version !== version) throw twoCopies(known, { version, directory })
  return known.library
}

/** The driver of this thread, if it has loaded the core. */
export const loadedDriver = (): Driver | undefined => registry[registryKey]?.library.driver

let declared: CoreFunctions | undefined

/** Returns the functions of the C core. @throws {LoadError} if the core cannot be loaded. */
export function coreFunctions(): CoreFunctions {
  return (declared ??= coreLibrary().functions)
}

function load(): CoreLibrary {
  const tried: (Candidate & { readonly reason: string })[] = []
  for (const candidate of candidates()) {
    const { path } = candidate
    if (!existsSync(path)) {
      tried.push({ ...candidate, reason: 'no such file' })
      continue
    }
    try {
      const digests = checkPackage(candidate)
      return settle(candidate, openDriver(path), digests)
    } catch (error) {
      if (error instanceof LoadError) throw error
      tried.push({ ...candidate, reason: (error as Error).message })
    }
  }
  const platform = hostPlatformName()
  throw new LoadError(
    `the native core of Tenon could not be loaded:${tried.map((t) => `\n  ${t.path} (${t.origin}): ${t.reason}`).join('')}`,
    {
      hint: tried.some(({ reason }) => reason.includes('loading addons is disabled'))
        ? 'Start Node.js with --allow-addons if it has --permission, and without --no-addons.'
        : `Install @tenon/core-${platform}, which package managers omit without optional dependencies, ` +
          'or name a built library in TENON_CORE_LIBRARY.',
      details: { tried, platform },
    },
  )
}

/** Compares the files that are loaded at first with the digests of their package. Every other file is compared when it is needed. */
function checkPackage({ path, package: name }: Candidate): Digests | undefined {
  if (name === undefined) return undefined
  const digests = packagedDigests(name)
  for (const file of [path, modulePath(path), guardPath(path)]) if (existsSync(file)) checkDigest(file, digests)
  return digests
}

/** Binds the functions of a library that is loaded, checks that it fits this process, and installs the exception guard. */
function settle({ path, origin }: Candidate, driver: Driver, digests: Digests | undefined): CoreLibrary {
  const bindCore = coreBinder(driver)
  const find = coreSymbols(driver, bindCore)
  const functions = bindAll(bindCore, FUNCTIONS.tenon, find)
  refuseSecondCopy(path, driver, functions)
  const version = driver.textAt(Number(functions.tn_version()))
  checkVersion(path, version)
  installGuard(path, driver, functions)
  return { path, origin, version, driver, bindCore, find, functions, digests }
}

function checkVersion(path: string, received: string): void {
  const { version: expected } = corePackage()
  if (received === expected) return
  throw new LoadError(`the native core at ${path} must have the version of @tenon/core, ${expected}, got ${received}`, {
    hint: 'Install @tenon/core and its platform package in the same version. In a checkout, build the libraries again.',
    details: { path, expected, received },
  })
}

const guardPath = (core: string): string => join(dirname(core), libraryFileName('tenon_guard'))

function installGuard(path: string, { addressOf, textAt }: Driver, functions: CoreFunctions): void {
  const guard = guardPath(path)
  if (!existsSync(guard)) {
    throw new LoadError(`the exception guard must be beside the native core, but ${guard} does not exist`)
  }
  const fail = (): LoadError =>
    new LoadError(`the exception guard ${guard} could not be loaded: ${textAt(Number(functions.tn_last_error()))}`)
  const [handle, address] = [new BigUint64Array(1), new BigUint64Array(1)]
  const [name, symbol] = [Buffer.from(guard), Buffer.from('tn_guard')]
  if (functions.tn_library_open(addressOf(name), name.length, addressOf(handle)) !== 0) throw fail()
  const found = functions.tn_library_symbol(Number(handle[0]), addressOf(symbol), symbol.length, addressOf(address))
  if (found !== 0) throw fail()
  functions.tn_guard_install(Number(address[0]))
}

/** Refuses a core of another version that another thread has loaded. Only the system's loader sees both. */
function refuseSecondCopy(path: string, { addressOf, textAt }: Driver, functions: CoreFunctions): void {
  const out = new BigUint64Array(2)
  const at = addressOf(out)
  if (functions.tn_first_core(at, at + 8) !== STATUS.OK.value) return
  const first = { directory: textAt(Number(out[0])), version: textAt(Number(out[1])) }
  const { version } = corePackage()
  // The loader gives tenon.node the core that another copy has loaded, so the core itself does not know that there are two.
  if (first.version === version || realpathSync(first.directory) === realpathSync(path)) return
  throw twoCopies(first, { directory: path, version })
}

function twoCopies(first: Copy, second: Copy): LoadError {
  return new LoadError(
    `a process must have one version of @tenon/core, got ${first.version} at ${first.directory} and ` +
      `${second.version} at ${second.directory}`,
    {
      hint: 'Make all packages depend on the same version. The command npm ls @tenon/core lists them.',
      details: { first: { ...first }, second: { ...second } },
    },
  )
}

export function lastError(): string {
  const { driver, functions } = coreLibrary()
  return driver.textAt(Number(functions.tn_last_error()))
}

export function statusName(status: number): StatusName | `status ${number}` {
  const names = Object.keys(STATUS) as StatusName[]
  return names.find((name) => STATUS[name].value === status) ?? `status ${status}`
}

/** Checks the status of a call of the core. `what` names the action. @throws {NativeError} with the message of the core. */
export function checkStatus(status: number, what: string): void {
  if (status === STATUS.OK.value) return
  throw new NativeError(`${what} failed: ${lastError()}`, { details: { status: statusName(status) } })
}
