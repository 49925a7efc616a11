import { driverInfo, TenonError, type DriverInfo, type RuntimeInfo } from '@tenon/core'
import { CONSTANTS, coreLibrary, runtime } from '@tenon/core/internal'
import { Cuda } from '@tenon/custom-call'
import { existsSync } from 'node:fs'
import { packageManifest } from '../version.ts'
import { systemFacts, type SystemFacts } from './system-facts.ts'

/** A part that does not work, as its error says. */
export interface Failure {
  readonly error: string
  readonly hint?: string
}

export interface DoctorFacts {
  /** The version of the package `tenon`. */
  readonly tenon: string
  /** The runtime. `required` is the oldest Node.js; built files refuse other runtimes that are too old. */
  readonly runtime: RuntimeInfo & { readonly path: string; readonly required?: string }
  readonly system: SystemFacts
  /** The native core. `origin` says how its file was found. */
  readonly core:
    | { readonly path: string; readonly origin: string; readonly version: string; readonly abiVersion: number }
    | Failure
  /** How native code is called. Missing without a core. */
  readonly driver?: DriverInfo | Failure
  /** The driver of CUDA. Missing without a core. */
  readonly cuda?: CudaFacts
  /** The variables of Tenon that are set. */
  readonly environment: Readonly<Record<string, string>>
}

export interface CudaFacts {
  readonly driver: { readonly path: string; readonly version: string; readonly deviceCount: number } | Failure
  /** Whether the system has an NVIDIA GPU, or the command line names a driver. */
  readonly isExpected: boolean
}

/** @param cudaDriver the library of the CUDA driver, or undefined for the system's */
export function doctorFacts(cudaDriver: string | undefined): DoctorFacts {
  const { version, engines } = packageManifest()
  const core = attempt(() => {
    const { path, origin, version: coreVersion } = coreLibrary()
    return { path, origin, version: coreVersion, abiVersion: CONSTANTS.TN_ABI_VERSION }
  })
  return {
    tenon: version,
    runtime: runtimeFacts(engines.node),
    system: systemFacts(),
    core,
    ...(!('error' in core) && { driver: attempt(driverInfo), cuda: cudaFacts(cudaDriver) }),
    environment: tenonVariables(process.env),
  }
}

function runtimeFacts(required: string): DoctorFacts['runtime'] {
  const { name, version, missing } = runtime
  return { name, version, path: process.execPath, missing, ...(name === 'Node.js' && { required }) }
}

function cudaFacts(library: string | undefined): CudaFacts {
  return {
    driver: attempt(() => {
      const { path, version, deviceCount } = Cuda.open(library === undefined ? {} : { library })
      return { path, version, deviceCount }
    }),
    isExpected: library !== undefined || existsSync('/dev/nvidiactl') || existsSync('/proc/driver/nvidia/version'),
  }
}

/** @throws errors that are not Tenon's, which are defects */
function attempt<T>(find: () => T): T | Failure {
  try {
    return find()
  } catch (error) {
    if (!(error instanceof TenonError)) throw error
    return { error: error.sentence, ...(error.hint !== undefined && { hint: error.hint }) }
  }
}

function tenonVariables(environment: NodeJS.ProcessEnv): Record<string, string> {
  const names = Object.keys(environment).filter((name) => name.startsWith('TENON_'))
  return Object.fromEntries(names.toSorted().map((name) => [name, environment[name]!]))
}
