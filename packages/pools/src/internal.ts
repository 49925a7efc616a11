/** The functions and types that the `tenon` package uses besides the public entry. They may change at any time. */
export { checkCallOptions } from './host/call-options.ts'
export { SPAN_UNIT } from './memory/free-list.ts'

export type {
  Answer,
  CallPriority,
  KeptPart,
  WorkerCall,
  WorkerDetails,
  WorkerIdentity,
  WorkerKernel,
  WorkerOperand,
} from './host/worker-call.ts'

export { WORKERS_OPTIONS } from './host/settings.ts'

export { byteUnitsHint, parseByteCount } from './memory/byte-count.ts'

export { Workers } from './host/workers.ts'
