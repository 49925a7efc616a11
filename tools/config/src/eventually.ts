import { vi } from 'vitest'

/**
 * Repeats a check until it passes, and returns its result. A machine that runs other tests may need seconds for what takes a
 * millisecond alone, so the wait ends only shortly before the test would.
 *
 * @example
 *   await eventually(async () => expect(await pending('model')).toBe(0))
 */
export function eventually<T>(
  check: () => T | Promise<T>,
  { timeout = 25_000, interval = 20 }: { timeout?: number; interval?: number } = {},
): Promise<T> {
  // oxlint-disable-next-line no-restricted-properties -- All tests wait here.
  return vi.waitFor(check, { timeout, interval })
}
