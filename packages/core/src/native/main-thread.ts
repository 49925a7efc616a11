import { coreLibrary } from './core-library.ts'

/**
 * Whether this thread is the main thread of the process. Loading node:worker_threads takes more than 2 ms, so it is asked only
 * where the Node-API module does not know.
 */
export function isMainThread(): boolean {
  const { driver } = coreLibrary()
  const isFirst = driver.kind === 'node-api' ? driver.module.isFirstThread : -1
  return isFirst === -1 ? process.getBuiltinModule('node:worker_threads').isMainThread : isFirst === 1
}
