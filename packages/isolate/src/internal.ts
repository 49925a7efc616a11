/** The functions and types that other packages of Tenon use besides the public entry. They may change at any time. */
export { checkCallOptions } from './host/call-options.ts'
export { WORKERS_OPTIONS } from './host/settings.ts'
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
export { Workers } from './host/workers.ts'
