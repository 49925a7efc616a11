import { globSync, rmSync } from 'node:fs'
import { commonJsProgram, esmLibrary } from '@tenon/config/tsup'

// Both configurations are built at once and write to dist.
rmSync('dist', { recursive: true, force: true })

export default [
  { ...esmLibrary(['src/index.ts', 'src/cli.ts', ...globSync('src/entries/*.ts')]), clean: false },
  commonJsProgram({ 'cli/call': 'src/cli/call.ts' }),
]
