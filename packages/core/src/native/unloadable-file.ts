import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs'

const ELF_64_LITTLE = 0x7f454c460201
const PT_LOAD = 1

/**
 * The reason why a file must not be passed to the system's loader, which would wait for ever for the writer of a pipe, and ends
 * the process with a signal when it touches a page behind the end of a file. The loader reports all other problems.
 */
export function unloadable(path: string): string | undefined {
  if (!path.includes('/')) return undefined
  try {
    if (!statSync(path).isFile()) return 'not a regular file'
    return process.platform === 'linux' && isCutOff(path) ? 'the file is cut off' : undefined
  } catch {
    return undefined // It is missing or inaccessible.
  }
}

/** Whether a segment, of which the loader maps all pages, ends behind the end of the file. */
function isCutOff(path: string): boolean {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    const read = (at: number, length: number): Buffer => {
      const bytes = Buffer.alloc(length)
      return bytes.subarray(0, readSync(file, bytes, 0, length, at))
    }
    const header = read(0, 64)
    if (header.length < 64 || header.readUIntBE(0, 6) !== ELF_64_LITTLE) return false
    const [entrySize, count] = [header.readUInt16LE(54), header.readUInt16LE(56)]
    const table = read(Number(header.readBigUInt64LE(32)), entrySize * count)
    if (entrySize < 56 || table.length < entrySize * count) return false
    return Array.from({ length: count }, (_, i) => i * entrySize).some((at) => {
      const end = table.readBigUInt64LE(at + 8) + table.readBigUInt64LE(at + 32)
      return table.readUInt32LE(at) === PT_LOAD && end > size
    })
  } finally {
    closeSync(file)
  }
}
