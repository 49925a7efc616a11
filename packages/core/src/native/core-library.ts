import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { LoadError, NativeError } from '../errors/kinds.ts'
import { candidates, corePackage, type Candidate, libraryFileName, platformName } from './locate.ts'
import { addressOf, keepAlive, loadGlobally, stringAt } from './driver.ts'
import { declareAll, type FunctionsOf } from './function-table.ts'
import { FUNCTIONS } from '../generated/functions.ts'
import { CONSTANTS } from '../generated/layouts.ts'
import { STATUS, type StatusName } from '../generated/status.ts'

export type CoreFunctions = FunctionsOf<typeof FUNCTIONS.tenon>

export interface CoreLibrary {
  readonly path: string
  readonly origin: Candidate['origin']
  readonly version: string
  readonly functions: CoreFunctions
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
      const declare = loadGlobally(path)
      checkAbi(path, Number((declare('tn_abi_version', 'uint32_t', []) as () => unknown)()))
      return settle(candidate, declareAll(declare, FUNCTIONS.tenon))
    } catch (error) {
      if (error instanceof LoadError) throw error
      tried.push({ ...candidate, reason: (error as Error).message })
    }
  }
  throw new LoadError(
    `the native core of Tenon could not be loaded:${tried.map((t) => `\n  ${t.path} (${t.origin}): ${t.reason}`).join('')}`,
    {
      hint:
        `Install @tenon/core-${platformName}, which package managers omit without optional dependencies, ` +
        'or name a built library in TENON_CORE_LIBRARY.',
      details: { tried, platform: platformName },
    },
  )
}

/** Checks the version before any other function is declared, because another version has other functions. */
function checkAbi(path: string, abi: number): void {
  const expected = CONSTANTS.TN_ABI_VERSION
  if (abi === expected) return
  throw new LoadError(`the native core at ${path} must have ABI version ${expected}, got ${abi}`, {
    hint: 'Install @tenon/core and its platform package in the same version.',
  })
}

/** Checks that the library fits this process, and installs the exception guard. */
function settle({ path, origin }: Candidate, functions: CoreFunctions): CoreLibrary {
  const version = stringAt(Number(functions.tn_version()))
  refuseSecondCopy(path, version, functions)
  const guard = join(dirname(path), libraryFileName('tenon_guard'))
  if (!existsSync(guard)) {
    throw new LoadError(`the exception guard must be beside the native core, but ${guard} does not exist`)
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
  return { path, origin, version, functions }
}

/** Refuses a core of another version that another thread has loaded. Only the system's loader sees both. */
function refuseSecondCopy(path: string, version: string, functions: CoreFunctions): void {
  const out = new BigUint64Array(2)
  const at = addressOf(out)
  if (functions.tn_first_core(at, at + 8) !== STATUS.OK.value) return
  const [firstPath, firstVersion] = [stringAt(Number(out[0])), stringAt(Number(out[1]))]
  if (firstVersion !== version) {
    throw twoCopies({ directory: firstPath, version: firstVersion }, { directory: path, version })
  }
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
  return stringAt(Number(coreFunctions().tn_last_error()))
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
