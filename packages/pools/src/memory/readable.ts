import { LONGEST_TIMER, pollReadable } from '@tenon/core/internal'

/** Waits until a descriptor is readable, `timeout` ms pass (never if undefined), or the signal is aborted. */
export async function readable(descriptor: number, timeout: number | undefined, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return
  await new Promise<void>((resolve) => {
    const watch = pollReadable(descriptor, () => end())
    watch.ref()
    const timer =
      timeout === undefined ? undefined : setTimeout(() => end(), Math.min(Math.max(timeout, 0), LONGEST_TIMER))
    const end = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      watch.close()
      resolve()
    }
    signal?.addEventListener('abort', end, { once: true })
  })
}
