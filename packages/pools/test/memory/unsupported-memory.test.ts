import { afterEach, expect, test, vi } from 'vitest'
import { UnsupportedError } from '@tenon/core'
import { SharedMemory } from '../../src/memory/shared-memory.ts'
import { platform } from '../../src/native/platform.ts'

afterEach(() => void vi.restoreAllMocks())

test.each([
  ['Windows', 'sharesDescriptors', /^shared memory needs Linux or macOS, got/],
  ['Electron', 'hasViews', /^shared memory needs views of native memory/],
] as const)('SharedMemory is refused at once as on %s', async (_, ability, message) => {
  vi.spyOn(platform, ability).mockReturnValue(false)
  expect(() => SharedMemory.open()).toThrow(UnsupportedError)
  expect(() => SharedMemory.open()).toThrow(message)
  expect(() => SharedMemory.ofHandle({} as never)).toThrow(message)
  await expect(SharedMemory.openNamed('x')).rejects.toThrow(message)
})
