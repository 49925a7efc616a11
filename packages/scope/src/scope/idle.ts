import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout } from 'node:timers'
import { trimChunks } from './chunk-pool.ts'
import { trimSlots } from './slot.ts'

/** The time after which unused memory is given back, in milliseconds: at least once, and less than twice. */
const IDLE = 1000

/** Runs a function outside of the request that a server works on, whose storage the timer would otherwise keep alive. */
const outside = AsyncLocalStorage.snapshot()

let isWatching = false
let isUsed = false

/** Gives the memory that later arenas could borrow back to the system once none has been closed for a while. */
export function trimWhenIdle(): void {
  isUsed = true
  if (isWatching) return
  isWatching = true
  outside(watch)
}

function watch(): void {
  isUsed = false
  const timer = setTimeout(() => {
    if (isUsed) return watch()
    isWatching = false
    trimChunks()
    trimSlots()
  }, IDLE)
  timer.unref()
}
