import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The bytes of a build ID, as the linker makes it. */
const BYTES = 20

/**
 * Writes an assembly source whose object gives a file for Linux its build ID, by which debuggers find its debug information. zig's linker
 * gives one only to programs.
 *
 * @param path relative to the directory of the package
 * @param hash of the inputs, in hexadecimal digits
 * @returns the path
 */
export function writeBuildId(directory: string, path: string, hash: string): string {
  const digits = hash.slice(0, 2 * BYTES).match(/../g)!
  const bytes = digits.map((byte) => `0x${byte}`).join(', ')
  const source = `/* The note of the type 3 by "GNU". The linker discards the usual section, .note.gnu.build-id, of an object. */
.section .note.build-id, "a", %note
.balign 4
.long 4, ${BYTES}, 3
.asciz "GNU"
.byte ${bytes}
.section .note.GNU-stack, "", %progbits
`
  writeFileSync(join(directory, path), source)
  return path
}
