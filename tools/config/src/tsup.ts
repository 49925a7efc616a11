import { readFileSync } from 'node:fs'
import { defineConfig, type Options } from 'tsup'

/** What esbuild makes of a top-level class that uses its own name: `var X = class _X`. */
const renamedClass = /^var (\w+) = class (_\1)\b/gm

/** Gives such classes their names back, because messages and `console.log` print them. */
function restoreClassNames(code: string): string {
  const names = [...code.matchAll(renamedClass)].map(([, name, renamed]) => [name!, renamed!] as const)
  return names.reduce((text, [name, renamed]) => text.replaceAll(new RegExp(`\\b${renamed}\\b`, 'g'), name), code)
}

/**
 * The configuration that builds the JavaScript of every package: ESM for Node.js 22 with source maps. `tsc` writes the
 * declarations. Sources can read the version of their package from `PACKAGE_VERSION`.
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
    plugins: [{ name: 'class-names', renderChunk: (code) => ({ code: restoreClassNames(code) }) }],
    define: { PACKAGE_VERSION: JSON.stringify(version) },
  }) as Options
}
