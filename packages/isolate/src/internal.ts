/** The functions and types that other packages of Tenon use besides the public entry. They may change at any time. */
export { splitOptions } from './isolate-options.ts'
export { encodeScript, missingExport, scriptThrown } from './script-host/script-description.ts'
export { WorkerHost } from './worker-host.ts'
export { Workers } from './host/workers.ts'
