import { join } from 'node:path'

/**
 * The options of Stryker for a package.
 *
 * @param files globs relative to the package.
 * @param cache the directory for results.
 */
export function strykerOptions(files: readonly string[], cache: string, concurrency: number): object {
  return {
    testRunner: 'one-process',
    plugins: [join(import.meta.dirname, 'plugin.ts')],
    mutate: [...files, '!src/**/generated/**', '!src/**/*.d.ts'],
    // The native builds and the packages that a package needs are found from its own folder.
    inPlace: true,
    tempDirName: 'node_modules/.cache/stryker',
    incremental: true,
    incrementalFile: join(cache, 'incremental.json'),
    coverageAnalysis: 'perTest',
    ignoreStatic: true,
    ignorers: ['error-texts'],
    mutator: { excludedMutations: ['StringLiteral'] },
    disableTypeChecks: false,
    concurrency,
    reporters: ['progress-append-only', 'plan'],
    allowConsoleColors: false,
    // The runner has limits of its own, which also start its process again.
    timeoutMS: 24 * 3600 * 1000,
    dryRunTimeoutMinutes: 60,
  }
}
