import { spawnSync } from 'node:child_process'

import { ownersOf, root } from './bench-files.ts'

/** The files then measure what users install, and never stale code. @throws {Error} if the build fails. */
export function buildFor(files: readonly string[], checkout: string = root): void {
  const filters = ownersOf(files).map((directory) => `--filter=./packages/${directory}...`)
  const args = ['run', 'build', 'build:native', '--output-logs=errors-only', ...filters]
  const result = spawnSync('turbo', args, {
    cwd: checkout,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  })
  if (result.error) throw new Error(`turbo could not be started. Run \`pnpm bench\`.`, { cause: result.error })
  if (result.status !== 0) throw new Error('nothing was measured, because the build failed')
}
