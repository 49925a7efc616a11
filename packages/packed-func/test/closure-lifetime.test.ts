import { describe, expect, it } from 'vitest'
import { liveCallbacks } from '@tenon/core/internal'
import { getGlobal, type NativeArray, packedFunc, type PackedFunc } from '../src/index.ts'
import { openStack, PENDING } from '../src/native/stack.ts'
import { collect, kernel } from './support.ts'

const call = kernel('call')
const MEBIBYTE = 2 ** 20

/** How much captured memory was not collected yet. */
let alive = 0

const collected = new FinalizationRegistry(() => alive--)

/** A function that captures memory. */
function capturing(): () => number {
  const memory = new Uint8Array(MEBIBYTE)
  collected.register(memory, undefined)
  alive++
  return () => memory.length
}

describe('the values that a closure captures', () => {
  it('are let go when the garbage collector gives the last reference back', async () => {
    for (let i = 0; i < 300; i++) packedFunc(capturing())
    await collect(() => alive === 0)
    expect(alive).toBe(0)
  })

  it('are let go when native code gives the last reference back in a call', async () => {
    const before = liveCallbacks()
    const list = getGlobal('ffi.List')() as NativeArray
    for (let i = 0; i < 20; i++) getGlobal('ffi.ListAppend')(list, capturing() as never)
    getGlobal('ffi.ListClear')(list)
    await collect(() => alive === 0)
    expect(alive).toBe(0)
    expect(liveCallbacks()).toBe(before)
  })

  it('are let go when a closure is closed, also within a call', async () => {
    packedFunc(capturing()).close()
    call(() => {
      packedFunc(capturing()).close()
      return null
    })
    await collect(() => alive === 0)
    expect(alive).toBe(0)
  })

  it('stay while native code holds the closure', async () => {
    const list = getGlobal('ffi.List')(packedFunc(capturing())) as NativeArray
    await collect(() => alive === 0)
    const kept = list.get(0) as PackedFunc
    expect(kept()).toBe(MEBIBYTE)
    kept.close()
    list.close()
  })

  it('a call that releases no closure has nothing to catch up with', () => {
    const { head } = openStack()
    kernel('sum')(1, 2)
    expect(head[PENDING]).toBe(0)
    const kept = packedFunc(() => 1)
    call(kept)
    expect(head[PENDING]).toBe(0)
  })
})
