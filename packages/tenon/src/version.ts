import { readFileSync } from 'node:fs'

/** The version of this package, from its manifest, which is one folder above `src` and `dist`. */
export function packageVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  return (manifest as { version: string }).version
}
