import settings from '@tenon/config/vitest'
import { defineConfig } from 'vitest/config'

/** `pnpm test:cross` runs the tests that need zig, and no others. */
const isCross = Boolean(process.env['TENON_CROSS'])

export default defineConfig(async (environment) => {
  const common = await settings(environment)
  const exclude = isCross ? ['test/*.test.ts'] : ['test/cross/**']
  return { ...common, test: { ...common.test, exclude } }
})
