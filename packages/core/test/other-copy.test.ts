import { expect, test, vi } from 'vitest'
import * as own from '../src/index.ts'
import * as ownInternal from '../src/internal.ts'

test('objects of another copy of the package are refused, and the error says that there are two', async () => {
  vi.resetModules()
  const other = await import('../src/index.ts')
  expect(other.Segment).not.toBe(own.Segment)
  for (const use of [
    () => own.tensor('u8', [8], other.gcAllocator.allocate(8) as never),
    () => own.tensor('u8', [8], undefined, { allocator: { allocate: (size) => other.gcAllocator.allocate(size) } }),
  ]) {
    expect(use).toThrow(/class Segment of another copy of @tenon\/core, .*src.*, while this one is .*src/)
  }
  try {
    own.tensor('u8', [8], other.gcAllocator.allocate(8) as never)
  } catch (error) {
    expect((error as InstanceType<typeof own.TenonError>).hint).toMatch(/npm ls @tenon\/core .* npm dedupe/)
  }
  // A value that only looks like one, and a proxy that throws, are described as before.
  expect(() => own.tensor('u8', [8], { byteSize: 8 } as never)).toThrow(/got an object/)
  const proxy = new Proxy(
    {},
    {
      get: () => {
        throw new Error('read')
      },
    },
  )
  expect(() => own.tensor('u8', [8], proxy as never)).toThrow(own.TenonError)
})

test('a copy has calls, counts of exposed memory and classes of its own, so it cannot keep memory of another copy open', async () => {
  vi.resetModules()
  const other = await import('../src/index.ts')
  const otherInternal = await import('../src/internal.ts')
  const foreign = other.tensor('u8', [8])
  const place = ownInternal.enterCall([foreign as never])
  try {
    expect(ownInternal.usersOf(foreign.gate as never).calls).toBe(1)
    expect(otherInternal.usersOf(foreign.gate).calls).toBe(0)
  } finally {
    ownInternal.leaveCall(place)
  }
  const before = ownInternal.exposures.count
  foreign.view()
  expect([ownInternal.exposures.count, own.Tensor.isGenuine(foreign)]).toEqual([before, false])
})
