import { cpSync, globSync, rmSync } from 'node:fs'
import { commonJsProgram, commonJsProgramWithCore, esmLibrary } from '@tenon/config/tsup'

// All configurations are built at once and write to dist. `pnpm coverage` writes to another directory, for the source maps.
if (!process.argv.includes('--out-dir')) {
  rmSync('dist', { recursive: true, force: true })
  // `tenon explain` prints these pages.
  cpSync('../../docs/errors', 'dist/errors', { recursive: true })
}

export default [
  { ...esmLibrary(['src/index.ts', 'src/cli/main.ts', ...globSync('src/entries/*.ts')]), clean: false },
  commonJsProgram({ cli: 'src/cli.ts' }),
  // Isolated calls start from the other file.
  { ...commonJsProgramWithCore({ 'cli/call': 'src/cli/call.ts' }), external: [/^\.\/isolated\//] },
]
