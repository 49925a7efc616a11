import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { LoadError, NativeError } from '../errors/kinds.ts'
import { candidates, corePackage, libraryFileName, platformName } from './locate.ts'
import { addressOf, keepAlive, loadGlobally, stringAt, type CFunction, type CType } from './driver.ts'
import { STATUS, type StatusName } from '../generated/status.ts'

/** The ABI of the C core that this TypeScript was written for. */
const ABI_VERSION = 1

/** The C core of this process, loaded. */
export interface CoreLibrary {
  readonly path: string
  readonly version: string
  /** Declares a function of the core. Once for each: keep what it returns. */
  declare(name: string, result: CType, parameters: readonly CType[]): CFunction
}

/** What the copies of this package in one JavaScript realm know of each other. */
interface Registered {
  readonly version: string
  readonly directory: string
  readonly library: CoreLibrary
}

const registry = globalThis as { [key: symbol]: Registered | undefined }
const registryKey = Symbol.for('tenon.core')

/**
 * The C core, loaded at first use: first of all native code, and globally, so that kernels find in it what they import.
 *
 * @throws {LoadError} naming every path tried, or the two copies that can't share the process.
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

/** Declares a function of the C core by name. */
export function coreFunction(name: string, result: CType, parameters: readonly CType[]): CFunction {
  return coreLibrary().declare(name, result, parameters)
}

function load(): CoreLibrary {
  const tried: { path: string; origin: string; reason: string }[] = []
  for (const { path, origin } of candidates()) {
    if (!existsSync(path)) {
      tried.push({ path, origin, reason: 'no such file' })
      continue
    }
    try {
      return settle(path, loadGlobally(path).declare)
    } catch (error) {
      if (error instanceof LoadError) throw error
      tried.push({ path, origin, reason: (error as Error).message })
    }
  }
  throw new LoadError(
    `the native core of Tenon could not be loaded:${tried.map((t) => `\n  ${t.path} (${t.origin}): ${t.reason}`).join('')}`,
    {
      hint:
        `install @tenon/core-${platformName} (package managers leave it out when optional dependencies are off), ` +
        'or name a built library in TENON_CORE_LIBRARY.',
      details: { tried, platform: platformName },
    },
  )
}

/** Checks that the library fits this package and this process, and makes it ready. */
function settle(path: string, declare: CoreLibrary['declare']): CoreLibrary {
  const abi = Number(declare('tn_abi_version', 'uint32_t', [])())
  if (abi !== ABI_VERSION) {
    throw new LoadError(`the native core at ${path} must have ABI version ${ABI_VERSION}, it has ${abi}`, {
      hint: 'install @tenon/core and its platform package in the same version.',
    })
  }
  const version = stringAt(Number(declare('tn_version', 'uintptr_t', [])()))
  refuseSecondCopy(path, version, declare)
  const guard = join(dirname(path), libraryFileName('tenon_guard'))
  if (!existsSync(guard)) {
    throw new LoadError(`the exception guard must be beside the native core, ${guard} does not exist`)
  }
  const libraryOpen = declare('tn_library_open', 'int32_t', ['uintptr_t', 'uintptr_t', 'uintptr_t'])
  const librarySymbol = declare('tn_library_symbol', 'int32_t', ['uintptr_t', 'uintptr_t', 'uintptr_t', 'uintptr_t'])
  const reason = declare('tn_last_error', 'uintptr_t', [])
  const fail = (): LoadError =>
    new LoadError(`the exception guard ${guard} could not be loaded: ${stringAt(Number(reason()))}`)
  const [handle, address] = [new BigUint64Array(1), new BigUint64Array(1)]
  const name = Buffer.from(guard)
  if (libraryOpen(addressOf(name), name.length, addressOf(handle)) !== 0) throw fail()
  const symbol = Buffer.from('tn_guard')
  if (librarySymbol(Number(handle[0]), addressOf(symbol), symbol.length, addressOf(address)) !== 0) throw fail()
  keepAlive(name)
  keepAlive(symbol)
  declare('tn_guard_install', 'int32_t', ['uintptr_t'])(Number(address[0]))
  return { path, version, declare }
}

/** Another thread may have loaded the core of another copy: only the loader sees both. */
function refuseSecondCopy(path: string, version: string, declare: CoreLibrary['declare']): void {
  const out = new BigUint64Array(2)
  const at = addressOf(out)
  if (declare('tn_first_core', 'int32_t', ['uintptr_t', 'uintptr_t'])(at, at + 8) !== STATUS.OK.value) return
  const [firstPath, firstVersion] = [stringAt(Number(out[0])), stringAt(Number(out[1]))]
  if (firstVersion !== version) {
    throw twoCopies({ directory: firstPath, version: firstVersion }, { directory: path, version })
  }
}

function twoCopies(
  first: { readonly directory: string; readonly version: string },
  second: { readonly directory: string; readonly version: string },
): LoadError {
  return new LoadError(
    `one process can have one version of @tenon/core, it has ${first.version} at ${first.directory} and ` +
      `${second.version} at ${second.directory}`,
    {
      hint: 'let all packages depend on the same version (npm ls @tenon/core shows who asks for which).',
      details: { first: { ...first }, second: { ...second } },
    },
  )
}

const statusNames = new Map<number, StatusName>(
  Object.entries(STATUS).map(([name, { value }]) => [value, name as StatusName]),
)

let lastErrorFunction: CFunction | undefined

/** The message that the last failing call of the core left on this thread. */
export function lastError(): string {
  lastErrorFunction ??= coreFunction('tn_last_error', 'uintptr_t', [])
  return stringAt(Number(lastErrorFunction()))
}

/** The name of a status code, or its number if the table lacks it. */
export function statusName(status: number): StatusName | `status ${number}` {
  return statusNames.get(status) ?? `status ${status}`
}

/** Throws what a status of the core says, with the message it left; `what` was being done. @throws {NativeError} */
export function checkStatus(status: number, what: string): void {
  if (status === STATUS.OK.value) return
  throw new NativeError(`${what} failed: ${lastError()}`, { details: { status: statusName(status) } })
}
