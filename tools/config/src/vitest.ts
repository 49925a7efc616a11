import { defineConfig } from 'vitest/config'

const major = process.versions.node.split('.')[0]
const wanted = process.env['TENON_NODE'] || major
if (major !== wanted) {
  throw new Error(`TENON_NODE is ${wanted}, but this is Node ${process.versions.node}: start vitest by tenon-vitest`)
}

/**
 * One configuration for every package.
 *
 * - Sources are tested: workspace packages resolve through the `@tenon/source` condition.
 * - `forks`: a segmentation fault becomes a failure with the file's name, where `threads` would die silently.
 * - The JSON report is what `pnpm test` adds up.
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
