import { expect, test, vi } from 'vitest'
import * as own from '../src/index.ts'

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
    expect((error as InstanceType<typeof own.TenonError>).hint).toMatch(/npm ls @tenon\/core/)
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
