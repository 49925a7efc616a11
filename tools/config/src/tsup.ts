import { defineConfig, type Options } from 'tsup'

/** The one way to build a package's JavaScript: ESM for Node 22, source maps, declarations left to `tsc`. */
export function esmLibrary(entry: string[]): Options | Options[] {
  return defineConfig({
    entry,
    format: 'esm',
    target: 'node22.12',
    platform: 'node',
    sourcemap: true,
    clean: true,
    dts: false,
    removeNodeProtocol: false,
  }) as Options
}
