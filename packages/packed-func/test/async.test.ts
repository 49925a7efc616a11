import { describe, expect, it, vi } from 'vitest'
import { tensor, type Tensor } from '@tenon/core'
import type { PackedFuncError } from '../src/index.ts'
import { tensorView } from '../src/index.ts'
import { openStack } from '../src/native/stack.ts'
import { kernel, live } from './support.ts'

const sum = kernel('sum')
const echo = kernel('echo')
const wait = kernel('wait_for_signal')

describe('a call on another thread', () => {
  it('returns the result of the function', async () => {
    expect(await sum.async(1, 2, 3)).toBe(6)
    expect(await echo.async('text that is longer than seven')).toBe('text that is longer than seven')
    expect(await echo.async('long '.repeat(10_000))).toHaveLength(50_000)
    expect(await kernel('nothing').async()).toBeNull()
  })

  it('rejects with the error of the function, its kind and its text', async () => {
    const error = (await kernel('fail_as')
      .async('KeyError')
      .catch((caught: unknown) => caught)) as PackedFuncError
    expect([error.kind, error.sentence]).toEqual(['KeyError', 'failed as asked'])
    await expect(sum.async('text')).rejects.toThrow('sum takes numbers')
  })

  it('settles each of many concurrent calls with its own result', async () => {
    const results = await Promise.allSettled(
      Array.from({ length: 200 }, (_, i) => (i % 2 === 0 ? sum.async(i, 1) : kernel('fail_as').async(`K${i}`))),
    )
    results.forEach((result, i) => {
      if (result.status === 'fulfilled') expect(result.value).toBe(i + 1)
      else expect((result.reason as PackedFuncError).kind).toBe(`K${i}`)
    })
  })

  it('holds tensors and writes to them', async () => {
    const x = tensor('float32', [3], [1, 2, 3])
    const y = tensor('float32', [3])
    await kernel('add_one').async(x, y)
    expect(y.toArray()).toEqual([2, 3, 4])
    expect(((await kernel('make_range').async(3)) as Tensor).toArray()).toEqual([0, 1, 2])
  })

  it('rejects borrowed tensors, closed functions and values without a native form', async () => {
    await expect(echo.async(tensorView(tensor('float32', [1])))).rejects.toThrow('DLTensor*')
    const lookup = kernel('nothing')
    lookup.close()
    await expect(lookup.async()).rejects.toThrow('closed already')
    await expect(echo.async(Symbol('x') as never)).rejects.toThrow(TypeError)
  })

  it('rejects with kind ThreadError for a function of TypeScript', async () => {
    const error = (await kernel('call')
      .async(() => 1)
      .catch((caught: unknown) => caught)) as PackedFuncError
    expect(error.kind).toBe('ThreadError')
  })

  it('does not block the event loop, and stops when its signal is aborted', async () => {
    const controller = new AbortController()
    const waiting = wait.with({ signal: controller.signal }).async(20_000)
    setTimeout(() => controller.abort(), 20)
    const error = (await waiting.catch((caught: unknown) => caught)) as PackedFuncError
    expect(error.kind).toBe('Interrupted')
    await expect(wait.with({ signal: controller.signal }).async(1)).rejects.toThrow('aborted')
    expect(await wait.with({ signal: new AbortController().signal }).async(1)).toBeNull()
    expect(wait(1)).toBeNull()
  })

  it('rejects with the reason of the signal that stopped it', async () => {
    const controller = new AbortController()
    const stopping = kernel('fail_as').with({ signal: controller.signal }).async('EnvErrorAlreadySet')
    controller.abort(new Error('enough'))
    await expect(stopping).rejects.toThrow('enough')
    const unasked = kernel('fail_as').async('EnvErrorAlreadySet')
    await expect(unasked).rejects.toMatchObject({ kind: 'EnvErrorAlreadySet' })
  })

  it('leaks nothing', async () => {
    await echo.async([1, 'text that is longer'])
    const before = live()
    const x = tensor('float32', [3])
    for (let i = 0; i < 100; i++) {
      await kernelAdd(x)
      await sum.async('text that is longer').catch(() => {})
    }
    // Objects of earlier tests may be collected meanwhile, but no new ones may stay.
    expect(live().foreign).toBeLessThanOrEqual(before.foreign)
  })

  it('does not depend on the functions of a signal', async () => {
    const before = live()
    const refuse = (): never => {
      throw new Error('own')
    }
    const functions = { throwIfAborted: () => {}, addEventListener: refuse, removeEventListener: refuse }
    const signal = Object.assign(new AbortController().signal, functions)
    expect(await echo.with({ signal }).async('text that is longer than seven')).toBe('text that is longer than seven')
    expect(live()).toEqual(before)
  })

  it('is cancelled if a getter of an argument aborts the signal', async () => {
    const { host } = openStack()
    const cancelled = vi.spyOn(host, 'tn_packed_job_cancel')
    const controller = new AbortController()
    const values = Object.defineProperty([1], 0, { get: () => (controller.abort(), 2) })
    await echo.with({ signal: controller.signal }).async(values)
    expect(cancelled).toHaveBeenCalledTimes(1)
    cancelled.mockRestore()
  })
})

const add = kernel('add_one')
async function kernelAdd(x: Tensor): Promise<unknown> {
  return add.async(x, x)
}
