import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { LoadError, NativeError } from '../errors/kinds.ts'
import { candidates, corePackage, libraryFileName, platformName } from './locate.ts'
import { addressOf, keepAlive, loadGlobally, stringAt } from './driver.ts'
import { declareLazily, type FunctionsOf } from './function-table.ts'
import { FUNCTIONS } from '../generated/functions.ts'
import { CONSTANTS } from '../generated/layouts.ts'
import { STATUS, type StatusName } from '../generated/status.ts'

/** The functions of the C core, by name. */
export type CoreFunctions = FunctionsOf<typeof FUNCTIONS.tenon>

/** The C core of this process, loaded. */
export interface CoreLibrary {
  readonly path: string
  readonly version: string
  readonly functions: CoreFunctions
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

let declared: CoreFunctions | undefined

/** Returns the functions of the C core, each declared at its first use. @throws {LoadError} if the core cannot be loaded. */
export function coreFunctions(): CoreFunctions {
  return (declared ??= coreLibrary().functions)
}

function load(): CoreLibrary {
  const tried: { path: string; origin: string; reason: string }[] = []
  for (const { path, origin } of candidates()) {
    if (!existsSync(path)) {
      tried.push({ path, origin, reason: 'no such file' })
      continue
    }
    try {
      return settle(path, declareLazily(loadGlobally(path).declare, FUNCTIONS.tenon))
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
function settle(path: string, functions: CoreFunctions): CoreLibrary {
  const abi = functions.tn_abi_version()
  const expected = CONSTANTS.TN_ABI_VERSION
  if (abi !== expected) {
    throw new LoadError(`the native core at ${path} must have ABI version ${expected}, it has ${abi}`, {
      hint: 'install @tenon/core and its platform package in the same version.',
    })
  }
  const version = stringAt(Number(functions.tn_version()))
  refuseSecondCopy(path, version, functions)
  const guard = join(dirname(path), libraryFileName('tenon_guard'))
  if (!existsSync(guard)) {
    throw new LoadError(`the exception guard must be beside the native core, ${guard} does not exist`)
  }
  const fail = (): LoadError =>
    new LoadError(`the exception guard ${guard} could not be loaded: ${stringAt(Number(functions.tn_last_error()))}`)
  const [handle, address] = [new BigUint64Array(1), new BigUint64Array(1)]
  const name = Buffer.from(guard)
  if (functions.tn_library_open(addressOf(name), name.length, addressOf(handle)) !== 0) throw fail()
  const symbol = Buffer.from('tn_guard')
  const found = functions.tn_library_symbol(Number(handle[0]), addressOf(symbol), symbol.length, addressOf(address))
  if (found !== 0) throw fail()
  keepAlive(name)
  keepAlive(symbol)
  functions.tn_guard_install(Number(address[0]))
  return { path, version, functions }
}

/** Another thread may have loaded the core of another copy: only the loader sees both. */
function refuseSecondCopy(path: string, version: string, functions: CoreFunctions): void {
  const out = new BigUint64Array(2)
  const at = addressOf(out)
  if (functions.tn_first_core(at, at + 8) !== STATUS.OK.value) return
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

/** The message that the last failing call of the core left on this thread. */
export function lastError(): string {
  return stringAt(Number(coreFunctions().tn_last_error()))
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
