import { readFileSync } from 'node:fs'

export interface PackageManifest {
  readonly version: string
  readonly engines: { readonly node: string }
}

/** The manifest of this package, which is one folder above `src` and `dist`. */
export function packageManifest(): PackageManifest {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as PackageManifest
}

export const packageVersion = (): string => packageManifest().version
