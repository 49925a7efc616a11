import type { Check } from './check.ts'
import { listSourceFiles, type SourceFile } from './source-files.ts'

/** The most lines that a file of C, C++ or assembly may have. oxlint limits the files of TypeScript. */
const LIMIT = 500

export function findLongFiles(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path, text }) => {
    const lines = text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
    return lines > LIMIT ? [`${path} must have at most ${LIMIT} lines, got ${lines}. Split it by concept.`] : []
  })
}

export const fileLengthCheck: Check = {
  name: 'length',
  async run() {
    return { problems: findLongFiles(await listSourceFiles(['.c', '.cc', '.h', '.S'])) }
  },
}
