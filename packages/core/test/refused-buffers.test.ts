import { afterEach, expect, test, vi } from 'vitest'
import { UnsupportedError } from '../src/errors/kinds.ts'
import { processAllocator } from '../src/memory/allocators.ts'
import { coreFunctions, coreLibrary } from '../src/native/core-library.ts'

afterEach(() => vi.restoreAllMocks())

test('memory of the process is freed if the runtime refuses a buffer over it', () => {
  const bufferOver = vi.spyOn(coreLibrary().driver, 'bufferOver').mockImplementation(() => {
    throw new Error('external buffers are not supported')
  })
  const free = vi.spyOn(coreFunctions(), 'tn_memory_free')
  for (const byteSize of [0, 1, 64, 2 ** 20]) {
    expect(() => processAllocator.allocate(byteSize)).toThrow(UnsupportedError)
    expect(free).toHaveBeenLastCalledWith(bufferOver.mock.lastCall![0])
  }
  expect(free).toHaveBeenCalledTimes(4)
})
