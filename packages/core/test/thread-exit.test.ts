import { expect, test } from 'vitest'
import { NativeError, NativeLibrary } from '@tenon/core'

const libc = NativeLibrary.open('libc.so.6')
const exit = libc.function('pthread_exit', { parameters: ['pointer'] })
const abs = libc.function('abs', { result: 'int32', parameters: ['int32'] })

test('an asynchronous call that ends its thread is an error, and later calls find threads', async () => {
  for (let i = 0; i < 20; i++) {
    await expect(exit.async(null)).rejects.toThrow(NativeError)
    expect(await abs.async(-i)).toBe(i)
  }
})

test('calls that end all threads at once leave none that waits', async () => {
  const calls = Array.from({ length: 200 }, (_, i) => (i % 2 === 0 ? exit.async(null) : abs.async(-i)))
  const settled = await Promise.allSettled(calls)
  expect(settled.filter(({ status }) => status === 'rejected')).toHaveLength(100)
  for (const one of settled) {
    if (one.status === 'rejected') expect(String(one.reason)).toContain('pthread_exit() ended the thread of the call')
  }
})
