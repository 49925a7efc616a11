import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const dist = fileURLToPath(new URL('../dist/', import.meta.url))

/** The packages whose declarations a declaration file needs. */
function packagesOf(entry: string): Set<string> {
  const packages = new Set<string>()
  const seen = new Set<string>()
  const visit = (file: string): void => {
    if (seen.has(file)) return
    seen.add(file)
    for (const [, name] of readFileSync(file, 'utf8').matchAll(/(?:from |import\(|import )['"]([^'"]+)['"]/g)) {
      if (name!.startsWith('.')) visit(join(dirname(file), name!.replace(/\.[jt]s$/, '.d.ts')))
      else packages.add(name!)
    }
  }
  visit(join(dist, entry))
  return packages
}

test.for(['index.d.ts', 'internal.d.ts', 'errors.d.ts', 'testing.d.ts'])(
  '%s compiles where koffi is not installed',
  (entry) => {
    expect(existsSync(join(dist, entry))).toBe(true)
    expect([...packagesOf(entry)]).not.toContain('koffi')
  },
)

test('koffi.d.ts needs koffi', () => {
  expect([...packagesOf('koffi.d.ts')]).toContain('koffi')
})
