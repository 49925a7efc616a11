import { expect, test, vi } from 'vitest'
import { createFrozenPool, createImagePool, createPool, poolUsage } from '@tenon/pools'
import { expectFailure, expectNoLeaks, floats } from './support.ts'

// What Electron does: it forbids ArrayBuffers over memory that isn't JavaScript's own.
await vi.hoisted(async () => {
  const { platform } = await import('@tenon/pools/internal')
  vi.spyOn(platform, 'hasViews').mockReturnValue(false)
})

await import('./driver.test.ts')
await import('./device-buffer.test.ts')
await import('./rules.test.ts')
await import('./rules-memory.test.ts')
await import('./fenced.test.ts')

test('without views, pools are read and written by copies', async () => {
  await expectNoLeaks(async () => {
    using pool = createPool(4096)
    pool.write(8, new Float32Array([1.5, -2]))
    expect(floats(pool.read(8, 8))).toEqual([1.5, -2])
    pool.slice(0, 8).write(Uint8Array.of(1, 2))
    expect([...pool.slice(0, 3).read()]).toEqual([1, 2, 0])
    using frozen = createFrozenPool(new Float32Array([7]))
    expect(floats(frozen.read(0))).toEqual([7])
    using image = createImagePool({ width: 3, height: 2, format: 'R8_UNORM' })
    image.writeRow(0, 1, Uint8Array.of(4, 5, 6))
    expect([...image.readPixels()]).toEqual([0, 0, 0, 4, 5, 6])
    await expectFailure(() => pool.view(), 'GENERAL_FAILURE')
    await expectFailure(() => pool.segment, 'GENERAL_FAILURE')
    expect(poolUsage().mappings).toBeGreaterThan(0)
  })
})
