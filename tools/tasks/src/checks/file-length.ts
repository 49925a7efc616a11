import type { Check } from './check.ts'
import { listSourceFiles, type SourceFile } from './source-files.ts'

/** The most lines a file may have, by extension. */
const limits: Readonly<Record<string, number>> = { '.ts': 400, '.c': 500, '.cc': 500, '.h': 500 }

/** A sentence for each file that is too long. */
export function findLongFiles(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path, text }) => {
    const limit = limits[path.slice(path.lastIndexOf('.'))]!
    const lines = countLines(text)
    return lines > limit ? [`${path} has ${lines} lines, and ${limit} are the most: split it by concept`] : []
  })
}

/** The middle length of the files, in lines. */
export function medianLength(files: readonly SourceFile[]): number {
  const lengths = files.map(({ text }) => countLines(text)).toSorted((a, b) => a - b)
  return lengths[Math.floor(lengths.length / 2)] ?? 0
}

function countLines(text: string): number {
  return text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
}

/** No file grows beyond what can be read at once. */
export const fileLengthCheck: Check = {
  name: 'length',
  async run() {
    const files = await listSourceFiles(Object.keys(limits))
    return { problems: findLongFiles(files), note: `${files.length} files, median ${medianLength(files)} lines` }
  },
}
