import { readFileSync } from 'node:fs'
import { defineConfig, type Options } from 'tsup'

/**
 * The one way to build a package's JavaScript: ESM for Node 22 with source maps. `tsc` writes the declarations. The
 * sources can read the version of the package they belong to from `PACKAGE_VERSION`.
 */
export function esmLibrary(entry: string[]): Options | Options[] {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
  return defineConfig({
    entry,
    format: 'esm',
    target: 'node22.12',
    platform: 'node',
    sourcemap: true,
    clean: true,
    dts: false,
    removeNodeProtocol: false,
    define: { PACKAGE_VERSION: JSON.stringify(version) },
  }) as Options
}
