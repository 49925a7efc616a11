import { serveScripts } from './script-host/serve-scripts.ts'

/** A worker in Node.js, which runs kernels in TypeScript for the process that has started it. */
await serveScripts()
