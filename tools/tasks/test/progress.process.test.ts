import { afterEach, expect, test, vi } from 'vitest'

import { showProgress } from '../src/lib/progress.ts'
import { startedTask } from '../src/lib/turbo.ts'

afterEach(() => void vi.useRealTimers())

/** The output of a task with two steps, of which the first takes 2.5 s. */
function shown(isTTY: boolean): string[] {
  vi.useFakeTimers()
  const texts: string[] = []
  const progress = showProgress({ isTTY, write: (text: string) => texts.push(text) > 0 }, 'building')
  progress.step('a:build')
  vi.advanceTimersByTime(2500)
  progress.step('b:build')
  progress.end()
  vi.advanceTimersByTime(2500)
  return texts
}

test('a terminal shows one line, which changes each second and with each step, and is removed at the end', () => {
  expect(shown(true)).toEqual([
    '\r\x1b[Kbuilding a:build, 0 s',
    '\r\x1b[Kbuilding a:build, 1 s',
    '\r\x1b[Kbuilding a:build, 2 s',
    '\r\x1b[Kbuilding b:build, 2 s',
    '\r\x1b[K',
  ])
})

test('files and pipes get one line for each step', () => {
  expect(shown(false)).toEqual(['building a:build\n', 'building b:build\n'])
})

test('a step is a task that turbo runs, and not one that is in its cache', () => {
  expect(startedTask('@tenon/core:build:native: cache miss, executing 0123456789abcdef')).toBe(
    '@tenon/core:build:native',
  )
  expect(startedTask('\x1b[35mtenon:build: \x1b[0mcache miss, executing 0123456789abcdef')).toBe('tenon:build')
  expect(startedTask('tenon:build: cache bypass, force executing 0123456789abcdef')).toBe('tenon:build')
  expect(startedTask('tenon:build: cache hit, suppressing logs 0123456789abcdef')).toBeUndefined()
  expect(startedTask('• Running build in 12 packages')).toBeUndefined()
})
