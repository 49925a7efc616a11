import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** In milliseconds. */
const RETRY_INTERVAL = 20

/**
 * Runs a function while no other process runs one with the same lock: two builds of one directory would mix their objects. The lock of
 * a process that was killed is removed.
 */
export async function withLock<T>(path: string, run: () => Promise<T>): Promise<T> {
  mkdirSync(dirname(path), { recursive: true })
  while (!tryLock(path)) await sleep(RETRY_INTERVAL)
  try {
    return await run()
  } finally {
    rmSync(path, { force: true })
  }
}

function tryLock(path: string): boolean {
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  const owner = ownerOf(path)
  if (owner !== undefined && !isRunning(owner)) rmSync(path, { force: true })
  return false
}

/** The process that has the lock. Undefined if it has just ended, or has not written its number yet. */
function ownerOf(path: string): number | undefined {
  try {
    return Number(readFileSync(path, 'utf8')) || undefined
  } catch {
    return undefined
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
