import { NativeLibrary, ScopeClosedError } from '@tenon/core'
import { expect, test } from 'vitest'

test('close actions of a library may call its functions, but not later, asynchronously, or after another one was closed', async () => {
  const [library, other] = [NativeLibrary.open('libm.so.6'), NativeLibrary.open('libm.so.6')]
  const types = { result: 'float64', parameters: ['float64'] } as const
  const [cos, sin] = [library.function('cos', types), other.function('sin', types)]
  const seen: unknown[] = []
  let later: Promise<unknown> | undefined
  let onThread: Promise<unknown> | undefined
  library.addCloseAction(() => {
    seen.push(cos(0), library.function('fabs', types)(-1))
    onThread = cos.async(0)
    onThread.catch(() => {})
    other.close()
    expect(() => sin(0)).toThrow(ScopeClosedError)
    seen.push(cos(0))
    later = Promise.resolve().then(() => cos(0))
    throw new Error('not again')
  })
  expect(() => library.close()).toThrow('not again')
  expect(seen).toEqual([1, 1, 1])
  await expect(onThread).rejects.toThrow(ScopeClosedError)
  await expect(later).rejects.toThrow(ScopeClosedError)
})
