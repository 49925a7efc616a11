import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { root } from '../lib/root.ts'
import type { Check } from './check.ts'
import { listSourceFiles, type SourceFile } from './source-files.ts'

/** The error codes of the sources: those that are given to an error's constructor, and those of each `SimpleError`. */
export function errorCodes(files: readonly SourceFile[]): string[] {
  const codes = files.flatMap(({ text }) => [
    ...Array.from(
      text.matchAll(/(?:super|new \w*Error|code(?: =|:))\s*\(?\s*'(TENON_[A-Z0-9_]+)'/g),
      ([, code]) => code!,
    ),
    ...Array.from(
      text.matchAll(/extends SimpleError \{\s*static override readonly kind[^=]*= '(\w+)Error'/g),
      ([, name]) => `TENON${name!.replace(/[A-Z]/g, '_$&').toUpperCase()}`,
    ),
  ])
  return [...new Set(codes)].toSorted()
}

/** Returns `docs/errors/scope-closed.md` for `TENON_SCOPE_CLOSED`. */
export function pageOf(code: string): string {
  return `docs/errors/${code.slice('TENON_'.length).toLowerCase().replaceAll('_', '-')}.md`
}

export const errorPagesCheck: Check = {
  name: 'error pages',
  async run() {
    const sources = (await listSourceFiles(['.ts'])).filter(({ path }) => /^packages\/[^/]+\/src\//.test(path))
    const codes = errorCodes(sources)
    const index = readFileSync(join(root, 'docs/errors/README.md'), 'utf8')
    const problems = codes.flatMap((code) => {
      const page = pageOf(code)
      const missing = existsSync(join(root, page)) ? [] : [`${code} must have a page at ${page}`]
      return index.includes(code) ? missing : [...missing, `docs/errors/README.md must list ${code}`]
    })
    return { problems, note: `${codes.length} codes` }
  },
}
