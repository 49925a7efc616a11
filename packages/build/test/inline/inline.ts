import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { onTestFinished } from 'vitest'

/** Tenon's C headers. */
export const headers: string = join(import.meta.dirname, '../../../core/include')

/** Returns a path in a directory that is removed after the test. */
export function temporary(...names: string[]): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'tenon-inline-')))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return join(directory, ...names)
}

/** A source whose function returns a number. */
export function answering(answer: number): string {
  return `int answer(void);\n__attribute__((visibility("default"))) int answer(void) { return ${answer}; }\n`
}
