/** Waits for something that others wait for too, until a signal ends this wait alone. */
export function settledBefore<Result>(signal: AbortSignal, promise: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}
