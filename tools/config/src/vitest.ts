import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, posix } from 'node:path'
import { defineConfig, type ViteUserConfigFnObject, type ViteUserConfig } from 'vitest/config'

const major = process.versions.node.split('.')[0]
const wanted = process.env['TENON_NODE'] || major
if (major !== wanted) {
  throw new Error(`TENON_NODE is ${wanted}, but this is Node ${process.versions.node}. Start vitest with tenon-vitest.`)
}

const fileNames: Partial<Record<NodeJS.Platform, string>> = { darwin: 'libfast_math.dylib', win32: 'fast_math.dll' }
const fastMathLibrary = join(
  import.meta.dirname,
  '../../../packages/core/build',
  process.env['TENON_VARIANT'] || 'release',
  fileNames[process.platform] ?? 'libfast_math.so',
)

/**
 * Tests with a library loaded first that sets flush-to-zero, and with example kernels that are built with `-Ofast`. Tests of
 * crashes run in processes of their own, which do not load it, and those of leaks compute nothing.
 */
const fastMath = {
  setupFiles: [join(import.meta.dirname, 'load-first.ts')],
}

/**
 * The coverage of all sources that the tests load, and of those of the package that they do not load. `pnpm coverage` reads the
 * report, and what the processes write to `TENON_COVERAGE` that tests start.
 */
const coverage = {
  setupFiles: [join(import.meta.dirname, 'coverage.ts')],
  coverage: {
    enabled: true,
    provider: 'v8' as const,
    allowExternal: true,
    include: ['src/**/*.ts', '**/{packages,examples}/*/src/**/*.ts'],
    exclude: ['**/*.d.ts'],
    reporter: ['json'],
    reportOnFailure: true,
    reportsDirectory: 'reports/coverage',
  },
}

const conditionsFor = (mode: string): string[] => [...(mode === 'coverage' ? ['@tenon/source'] : []), 'module', 'node']

/** Files that need a process of their own. Of these, `--mode fast-math` runs only the first. */
const OWN_PROCESS = ['test/**/*.process.test.ts', 'test/**/*.{crash,soak}.test.ts']

/** The part of a package.json that says where the sources of its entries are. */
interface Manifest {
  readonly name: string
  readonly exports?: Readonly<Record<string, string | Readonly<Record<string, string>>>>
}

/** Resolves the names of the entries of this package to its sources, so that its tests never run an old build. */
function ownSources(): { find: RegExp; replacement: string }[] {
  const root = process.cwd()
  const { name, exports = {} } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest
  return Object.entries(exports).flatMap(([entry, target]) => {
    const source = typeof target === 'string' ? undefined : target['@tenon/source']
    if (source === undefined) return []
    return [{ find: new RegExp(`^${posix.join(name, entry)}$`), replacement: join(root, source) }]
  })
}

const settingsFor = (mode: string, isolate: boolean): ViteUserConfig => ({
  resolve: { conditions: conditionsFor(mode), alias: ownSources() },
  ssr: { resolve: { conditions: conditionsFor(mode) } },
  oxc: { target: 'node22' },
  test: {
    ...(mode === 'fast-math' ? fastMath : {}),
    ...(mode === 'coverage' ? coverage : {}),
    pool: 'forks',
    maxWorkers: availableParallelism(),
    env: mode === 'fast-math' ? { TENON_TEST_LOAD_FIRST: fastMathLibrary, TENON_KERNELS_VARIANT: 'fast-math' } : {},
    execArgv: ['--expose-gc'],
    projects: [
      { extends: true, test: { name: 'shared', include: ['test/**/*.test.ts'], exclude: OWN_PROCESS, isolate } },
      {
        extends: true,
        test: { name: 'own process', include: mode === 'fast-math' ? OWN_PROCESS.slice(0, 1) : OWN_PROCESS },
      },
    ],
    typecheck: { include: ['test/**/*.test-d.ts'] },
    reporters: ['default', 'json'],
    outputFile: { json: mode === 'fast-math' ? 'reports/fast-math.json' : 'reports/vitest.json' },
    expect: { poll: { timeout: 25_000 } },
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})

/**
 * The configuration of every package.
 *
 * - Tests run against the sources of their package, which its own name means as well, and the built packages that it depends on, which
 *   load in a third of the time. A report of coverage needs the sources of all, to which workspace packages resolve through the
 *   `@tenon/source` condition.
 * - Files share a process, which saves a third of the processor time. A test that counts what its whole process has, or changes it for
 *   good, is in a file `*.process.test.ts`, `*.crash.test.ts` or `*.soak.test.ts`, which has its own.
 * - With `forks`, a segmentation fault is a failure with the name of the file. With `threads`, the process would end silently.
 * - `pnpm test` adds up the JSON reports.
 * - No test is tried again: a test that fails now and then is a defect of the test or of what it tests.
 * - `--mode fast-math` runs the tests on a thread with flush-to-zero.
 * - `--mode coverage` counts which lines run.
 */
export default defineConfig(({ mode }) => settingsFor(mode, false))

/** The configuration of a package each of whose files has a process of its own, which ends what the file has started with it. */
export const ownProcesses: ViteUserConfigFnObject = defineConfig(({ mode }) => settingsFor(mode, true))
