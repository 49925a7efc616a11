import { coreLibrary } from '@tenon/core/internal'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'

/** The path of a library that only tests use, beside the core. */
export const fixture = (name: string): string => join(dirname(coreLibrary().path), `lib${name}.so`)

/** The library with the kernel `faulty`, whose attribute `fault` says what it does. */
export const libfaulty: string = fixture('faulty')

/** Makes a folder with models: files by path, whose contents are JSON, text, or copies of libraries. */
export function makeRepository(files: Readonly<Record<string, object | string | { copy: string }>>): string {
  const directory = mkdtempSync(join(tmpdir(), 'tenon-models-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true })
    if (typeof content === 'string') writeFileSync(join(directory, path), content)
    else if ('copy' in content) copyFileSync(content.copy, join(directory, path))
    else writeFileSync(join(directory, path), JSON.stringify(content))
  }
  return directory
}

/** The `model.json` of that kernel. */
export const faulty = (fault: number, others: object = {}): object => ({
  library: basename(libfaulty),
  kernel: 'faulty',
  attributes: { fault },
  ...others,
})
