import { readFileSync } from 'node:fs'

/** The version of this package. Read from its manifest, which lies one folder up from `src` and from `dist`. */
export function packageVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  return (manifest as { version: string }).version
}
