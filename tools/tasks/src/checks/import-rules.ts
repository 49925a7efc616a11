import { parseSync } from 'oxc-parser'

import type { Check } from './check.ts'
import { listSourceFiles, type SourceFile } from './source-files.ts'

/** What the sources of a package may import of this repository and of koffi; everything else is up to its package.json. */
interface ImportRule {
  readonly sources: RegExp
  readonly allowed: readonly string[]
  readonly because: string
}

/** The first rule whose `sources` match a file holds. */
const rules: readonly ImportRule[] = [
  {
    sources: /^packages\/core\/src\/native\//,
    allowed: ['koffi'],
    because: 'the core stands alone',
  },
  {
    sources: /^packages\/core\/src\//,
    allowed: [],
    because: 'the core stands alone, and only src/native reaches koffi',
  },
  {
    sources: /^packages\/(scope|tstring|packed-func|custom-call|pools)\/src\//,
    allowed: ['@tenon/core', '@tenon/core/internal'],
    because: 'the packages meet in @tenon/core and never import each other',
  },
  {
    sources: /^packages\/tenon\/src\//,
    allowed: ['core', 'core/internal', 'scope', 'tstring', 'packed-func', 'custom-call', 'pools'].map(
      (name) => `@tenon/${name}`,
    ),
    because: 'what is published needs nothing that is not, and only the core reaches koffi',
  },
]

/** The modules that a file imports or re-exports, for types alone or not. */
export function importedModules({ path, text }: SourceFile): string[] {
  const { module } = parseSync(path, text)
  const dynamic = module.dynamicImports.map(({ moduleRequest: { start, end } }) =>
    text.slice(start, end).replaceAll(/^['"`]|['"`]$/g, ''),
  )
  const reexported = module.staticExports.flatMap(({ entries }) => entries.map((entry) => entry.moduleRequest?.value))
  const imported = module.staticImports.map((statement) => statement.moduleRequest.value)
  return [...new Set([...imported, ...reexported, ...dynamic])].filter((name) => name !== undefined)
}

/** A sentence for each import that breaks a rule. */
export function findForbiddenImports(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) => {
    const rule = rules.find(({ sources }) => sources.test(file.path))
    if (!rule) return []
    return importedModules(file)
      .filter((name) => isRuled(name, file.path) && !rule.allowed.includes(name))
      .map((name) => `${file.path} imports ${name}: ${rule.because}`)
  })
}

/** Whether the rules speak of a module: this repository's own packages, koffi, and paths that leave the package's sources. */
function isRuled(name: string, path: string): boolean {
  if (name.startsWith('.')) {
    const [packages, own, src] = path.split('/')
    return !new URL(name, `file:///${path}`).pathname.startsWith(`/${packages}/${own}/${src}/`)
  }
  return /^(@tenon\/|tenon(\/|$)|koffi(\/|$))/.test(name)
}

/** Nothing imports what the architecture keeps apart. */
export const importRulesCheck: Check = {
  name: 'imports',
  async run() {
    return { problems: findForbiddenImports(await listSourceFiles(['.ts'])) }
  },
}
