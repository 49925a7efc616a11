import { LAYOUTS } from '../../generated/layouts.ts'
import { coreFunctions } from '../core-library.ts'
import { addressOf } from '../native-memory.ts'
import { runtime, type RuntimeInfo } from '../runtime.ts'
import type { Abi } from './call-plan.ts'
import { threadDriver } from './thread-driver.ts'

/** How this thread enters native code, and what is in use. The command `tenon doctor` prints it. */
export interface DriverInfo {
  readonly kind: 'node-api' | 'koffi'
  /** Why the kind is not `node-api`. */
  readonly reason?: string
  readonly abi: Abi
  /** The runtime, and what Tenon cannot do there. */
  readonly runtime: RuntimeInfo
  /** The stubs of the process. The addresses of dead stubs are not used again, so that late calls are harmless. */
  readonly stubs: { readonly live: number; readonly dead: number; readonly limit: number; readonly refused: number }
  /** The threads for asynchronous calls: their limit, and the calls that run and wait. */
  readonly threads: { readonly limit: number; readonly running: number; readonly queued: number }
}

/**
 * Describes the way into native code. Opens it if this thread has not called native code yet.
 *
 * @throws {LoadError} if the native core cannot be loaded, or an environment variable is not valid.
 * @example
 * driverInfo().stubs.limit // 1048576
 */
export function driverInfo(): DriverInfo {
  const { kind, reason, abi } = threadDriver()
  const core = coreFunctions()
  const { name, version, missing } = runtime
  const stubs = numbersOf('tn_stub_counts_t', (at) => core.tn_stub_counts(at))
  const threads = numbersOf('tn_jobs_counts_t', (at) => core.tn_jobs_counts(at))
  return {
    kind,
    ...(reason === undefined ? {} : { reason }),
    abi,
    runtime: { name, version, missing },
    stubs: { live: stubs('live'), dead: stubs('dead'), limit: stubs('limit'), refused: stubs('refused') },
    threads: { limit: threads('limit'), running: threads('running'), queued: threads('queued') },
  }
}

/** Has a struct of unsigned 64-bit numbers filled, and returns a reader of its members. */
function numbersOf<Name extends 'tn_stub_counts_t' | 'tn_jobs_counts_t'>(
  name: Name,
  fill: (address: number) => void,
): (member: keyof (typeof LAYOUTS)[Name]['offsets']) => number {
  const { size, offsets } = LAYOUTS[name]
  const values = new BigUint64Array(size / 8)
  fill(addressOf(values))
  return (member) => Number(values[(offsets as Record<PropertyKey, number>)[member]! / 8])
}
