import { kernelLibrary } from '@tenon/kernels'
import { expect, test, vi } from 'vitest'

/** A second copy of the package in this thread, with its own argument stack. */
async function copy(): Promise<(value: number) => unknown> {
  vi.resetModules()
  const { Module } = await import('@tenon/packed-func')
  const sum = Module.open(kernelLibrary('packed')).get('sum')
  return (value) => sum(value, 1)
}

test('two copies of the package in one thread can call in turn', async () => {
  const [first, second] = [await copy(), await copy()]
  for (let i = 0; i < 100; i++)
    expect([first(i), second(1000 + i), second(i), first(-i)]).toEqual([i + 1, 1001 + i, i + 1, 1 - i])
})
