import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { ExecutorProcess } from '../src/server/executor-process.ts'
import { monotonicTime, type TurnWords } from '../src/server/turn-words.ts'
import { Watchdog } from '../src/server/watchdog.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'performance', 'hrtime', 'Date'] }))
afterEach(() => void vi.useRealTimers())

/** An executor in a turn with a deadline in 50 ms. @param usage of the processor, after so many milliseconds */
function running(usage: (elapsed: number) => ReturnType<ExecutorProcess['usage']>) {
  const start = monotonicTime()
  const words = { turn: 1, isRunning: true, deadline: start + 50, client: 3, cancel: vi.fn<TurnWords['cancel']>() }
  const kill = vi.fn<ExecutorProcess['kill']>()
  const executor = { words, kill, usage: () => usage(monotonicTime() - start) } as unknown as ExecutorProcess
  const watchdog = new Watchdog()
  watchdog.watch(executor)
  return { watchdog, executor, kill, cancel: words.cancel }
}

/** When an executor was killed, in steps of 10 ms. */
function killedAfter({ kill }: { kill: ReturnType<typeof vi.fn> }): number {
  for (let elapsed = 0; elapsed <= 4000; elapsed += 10) {
    if (kill.mock.calls.length > 0) return elapsed
    vi.advanceTimersByTime(10)
  }
  return Infinity
}

test.each([
  ['computes', (elapsed: number) => ({ isRunnable: true, time: 7000 + elapsed }), 150, 200],
  ['sleeps', () => ({ isRunnable: false, time: 7000 }), 150, 200],
  ['cannot be asked for its usage', () => undefined, 150, 200],
  ['has a third of a processor', (elapsed: number) => ({ isRunnable: true, time: 7000 + elapsed / 3 }), 320, 420],
  ['gets no processor at all', () => ({ isRunnable: true, time: 7000 }), 1150, 1220],
] as const)('an executor that %s is ended once it had its time, and not before', (_, usage, earliest, latest) => {
  const watched = running(usage)
  const elapsed = killedAfter(watched)
  expect(elapsed).toBeGreaterThanOrEqual(earliest)
  expect(elapsed).toBeLessThanOrEqual(latest)
  expect(watched.cancel).toHaveBeenCalledWith(1)
  expect(watched.kill).toHaveBeenCalledWith('a request has missed its deadline, and did not end')
})

test('the turn of a client that has left has more time, and that after a turn before it counts its own usage', () => {
  const watched = running((elapsed) => ({ isRunnable: true, time: elapsed }))
  Object.assign(watched.executor.words, { deadline: Infinity })
  watched.watchdog.leave(watched.executor, 3)
  const elapsed = killedAfter(watched)
  expect(elapsed).toBeGreaterThanOrEqual(1000)
  expect(elapsed).toBeLessThanOrEqual(1060)
})
