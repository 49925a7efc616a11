import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

import { hostPlatform, type PlatformName } from '../../src/platform.ts'
import type { Runner } from '../../src/run-tests.ts'

/** How this machine runs programs of another platform, or a sentence that says what it lacks. */
export type FoundRunner = Runner | string

const cache = join(import.meta.dirname, '../../../../node_modules/.cache/tenon')

function findWine(): FoundRunner {
  if (spawnSync('wine', ['--version']).status !== 0) return 'wine is not installed (apt-get install wine64 wine)'
  return { command: ['wine'], env: { WINEPREFIX: join(cache, 'wine'), WINEDEBUG: '-all' } }
}

const muslLoader = '/lib/ld-musl-x86_64.so.1'

/** musl's loader runs programs beside glibc. The guard needs a C++ runtime that musl can load, which is that of Alpine. */
function findMusl(): FoundRunner {
  if (!existsSync(muslLoader)) return `there is no ${muslLoader} (apt-get install musl)`
  const libraries = process.env['TENON_MUSL_LIBRARIES']
  if (!libraries)
    return 'TENON_MUSL_LIBRARIES is not set to a directory with the libstdc++.so.6 and the libgcc_s.so.1 of Alpine'
  return { command: [], env: { LD_LIBRARY_PATH: libraries } }
}

/** The platforms whose C tests are built here, each with what runs them on Linux for x64. */
export const runners: readonly { readonly name: PlatformName; readonly find: () => FoundRunner }[] =
  hostPlatform.name === 'linux-x64-gnu'
    ? [
        { name: 'win32-x64', find: findWine },
        { name: 'linux-x64-musl', find: findMusl },
        { name: 'darwin-arm64', find: () => 'only macOS runs them' },
      ]
    : []
