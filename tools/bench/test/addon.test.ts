import { expect, test } from 'vitest'
import { loadAddon } from '../src/addon.ts'

interface Addon {
  runHost(): void
  setTarget(target: unknown): void
  callTarget(): void
  runTyped(...arrays: readonly unknown[]): void
}

function loadsAndChecks(): void {
  const addon = loadAddon<Addon>('custom_call_addon')
  expect(() => addon.runHost()).toThrow('bind first')
  expect(() => addon.runTyped(1)).toThrow('expected 4 argument(s)')
  expect(() => addon.runTyped(1, 2, 3, 4)).toThrow('expected a typed array')
  expect(() => addon.setTarget(1)).toThrow('expected a function')
  const seen: number[] = []
  addon.setTarget((frame: number) => {
    seen.push(frame)
    return 0
  })
  addon.callTarget()
  expect(seen).toStrictEqual([0])
  addon.setTarget(() => {
    throw new RangeError('mine')
  })
  expect(() => addon.callTarget()).toThrow(RangeError)
}

interface CoreAddon {
  bind(kind: number, address: number): (...values: readonly unknown[]) => unknown
}

function checksIntegers(): void {
  // The address is never called, because the arguments are refused first.
  const integers = loadAddon<CoreAddon>('core_addon').bind(12, 1)
  expect(() => integers(...Array<number>(65).fill(1))).toThrow('expected integers of 64 bits')
  expect(() => integers('1')).toThrow('expected integers of 64 bits')
  expect(() => integers(1, 2, 3)).toThrow('expected a power of two')
}

// Windows has no addons.
if (process.platform !== 'win32') {
  test('integers() of the addon checks the number and the types of its arguments', checksIntegers)
  test('loadAddon() loads an addon, which checks its arguments', loadsAndChecks)
}

test('loadAddon() throws an error with the file name if the addon was not built', () => {
  expect(() => loadAddon('no_addon')).toThrow(/no_addon\.node/)
})
