/** Flags of Node.js for programs that tests start and that import modules which a package does not export. */
export const sourceFlags: readonly string[] = ['--conditions=@tenon/source']

/**
 * Flags of Node.js for programs that tests start and that import packages by their names. Such programs use the built packages, which load
 * in a third of the time that the sources take. In coverage runs they use the sources, whose lines are counted.
 */
export const packageFlags: readonly string[] = process.env['TENON_COVERAGE'] === undefined ? [] : sourceFlags

/** The driver of the core in this run of the tests: `pnpm test:koffi` runs them with koffi's. */
export const testedDriver: string = process.env['TENON_DRIVER'] || 'node-api'

/**
 * The URL of the entry of a package, for programs that have no file and find no packages by their names, such as a `data:` URL.
 *
 * @param root the URL of the package's folder.
 */
export const packageEntry = (root: URL): string =>
  new URL(packageFlags.length === 0 ? 'dist/index.js' : 'src/index.ts', root).href
