/** The functions and types that other packages of Tenon use besides the public entry. They may change at any time. */
export { splitOptions } from './isolate-options.ts'
export { encodeScript, missingExport, scriptThrown } from './script-host/script-description.ts'
export { WorkerHost } from './worker-host.ts'
export { Workers } from './host/workers.ts'
export { Backoff } from './host/restart-policy.ts'
export { CommandMemory } from './host/command-memory.ts'
export { WorkerProcess } from './host/worker-process.ts'
