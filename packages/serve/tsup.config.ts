import { esmLibrary } from '@tenon/config/tsup'
import { rmSync } from 'node:fs'

// Both configurations are built at once and write to dist.
rmSync('dist', { recursive: true, force: true })

export default [
  { ...esmLibrary(['src/index.ts']), clean: false },
  // One file without imports, which browsers can load as it is.
  {
    ...esmLibrary(['src/client.ts']),
    clean: false,
    platform: 'browser',
    target: 'es2023',
    noExternal: [/^@tenon\//],
    // Its source map has the text of its sources, because some are those of other packages. Their built files are one file for each package,
    // which needs modules of Node.js.
    esbuildOptions: (options: { conditions?: string[] }): void => {
      options.conditions = ['@tenon/source']
    },
  },
]
