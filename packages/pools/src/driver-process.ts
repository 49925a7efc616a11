import { isMainThread, workerData } from 'node:worker_threads'
import { serveDriver } from './driver/serve-driver.ts'

/** The reference CPU driver in a process or a worker of its own. */
if (isMainThread) serveDriver()
else serveDriver({ descriptor: (workerData as { readonly descriptor: number }).descriptor })
