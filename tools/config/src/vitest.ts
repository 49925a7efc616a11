import { defineConfig } from 'vitest/config'

const major = process.versions.node.split('.')[0]
const wanted = process.env['TENON_NODE'] || major
if (major !== wanted) {
  throw new Error(`TENON_NODE is ${wanted}, but this is Node ${process.versions.node}. Start vitest with tenon-vitest.`)
}

/**
 * The configuration of every package.
 *
 * - Tests run against the sources, because workspace packages resolve through the `@tenon/source` condition.
 * - With `forks`, a segmentation fault is a failure with the name of the file. With `threads`, the process would end silently.
 * - `pnpm test` adds up the JSON reports.
 */
export default defineConfig({
  resolve: { conditions: ['@tenon/source', 'module', 'node'] },
  ssr: { resolve: { conditions: ['@tenon/source', 'module', 'node'] } },
  oxc: { target: 'node22' },
  test: {
    pool: 'forks',
    execArgv: ['--expose-gc'],
    include: ['test/**/*.test.ts'],
    typecheck: { include: ['test/**/*.test-d.ts'] },
    reporters: ['default', 'json'],
    outputFile: { json: 'reports/vitest.json' },
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
})
