import { expect, test, vi } from 'vitest'
import { UnsupportedError } from '@tenon/core'
import { SharedMemory } from '../../src/memory/shared-memory.ts'

const facts = vi.hoisted(() => ({ hasViews: true, sharesDescriptors: true }))

vi.mock('../../src/native/platform.ts', async (original) => ({
  ...(await original<typeof import('../../src/native/platform.ts')>()),
  hasViews: () => facts.hasViews,
  sharesDescriptors: () => facts.sharesDescriptors,
}))

test.each([
  ['Windows', { hasViews: true, sharesDescriptors: false }, /^shared memory needs Linux or macOS, got/],
  ['Electron', { hasViews: false, sharesDescriptors: true }, /^shared memory needs views of native memory/],
])('SharedMemory is refused at once as on %s', async (_, system, message) => {
  Object.assign(facts, system)
  expect(() => SharedMemory.open()).toThrow(UnsupportedError)
  expect(() => SharedMemory.open()).toThrow(message)
  expect(() => SharedMemory.ofHandle({} as never)).toThrow(message)
  await expect(SharedMemory.openNamed('x')).rejects.toThrow(message)
})
