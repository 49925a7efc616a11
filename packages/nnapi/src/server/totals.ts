import { totalmem } from 'node:os'
import { checkOptions, checkSize } from '@tenon/core/internal'
import { descriptorLimit } from '../link/socket.ts'

/** The most that a driver at a path lets all its clients use together. More is refused with `RESOURCE_EXHAUSTED_TRANSIENT`. */
export interface DriverTotals {
  /** The declared bytes of pools. */
  readonly poolBytes: number
  /** Bytes of intermediate results, copies of constants and copies of values. */
  readonly workingBytes: number
  /** Bytes of device buffers. */
  readonly bufferBytes: number
  /** Clients that are connected. */
  readonly clients: number
  /** Descriptors that the front, and each executor, can have open. */
  readonly descriptors: number
  /** Requests that wait for their turn. */
  readonly requests: number
}

/** Reads each total once. @throws {ArgumentError | ArgumentRangeError} for other values than whole numbers and Infinity */
export function totalsOf(totals: Partial<DriverTotals> | undefined): DriverTotals {
  const half = Math.floor(memoryOfSystem() / 2)
  const defaults: DriverTotals = {
    clients: 128,
    descriptors: Math.floor(0.8 * descriptorLimit()),
    poolBytes: half,
    workingBytes: half,
    bufferBytes: half,
    requests: 1024,
  }
  const names = Object.keys(defaults) as (keyof DriverTotals)[]
  const given = checkOptions(totals, names, 'totals')
  const entries = names.map((name) => {
    const total = given[name] ?? defaults[name]
    const unit = name.endsWith('Bytes') ? 'bytes' : name
    return [name, total === Infinity ? total : checkSize(total, `totals.${name}`, unit)]
  })
  return Object.fromEntries(entries) as unknown as DriverTotals
}

/** The bytes of memory of this machine, or of the group of processes that this one belongs to. */
function memoryOfSystem(): number {
  const limit = process.constrainedMemory()
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem()
}
