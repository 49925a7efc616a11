import { readBinary } from '@tenon/binary'

/** The names of the symbols that a library exports, also with their versions, such as `memcpy@GLIBC_2.2.5`. */
export function exportedNames(path: string): Set<string> {
  const { exports, versionedExports = [] } = readBinary(path)
  return new Set([...exports.map(({ name }) => name), ...versionedExports])
}
