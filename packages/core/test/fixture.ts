import { dirname, join } from 'node:path'
import { coreLibrary } from '@tenon/core/internal'

/** The path of a library that only the tests use: it stands beside the core that runs, in its variant. */
export function fixturePath(name: string): string {
  return join(dirname(coreLibrary().path), `lib${name}.so`)
}
