import { statSync } from 'node:fs'
import { LoadError } from '../errors/kinds.ts'
import { CONSTANTS } from '../generated/layouts.ts'
import { coreFunctions } from './core-library.ts'
import { addressOf } from './native-memory.ts'

/**
 * The identity of the file at a path: its device, inode, size, and time of change in nanoseconds, as `tn_library_open_file()` compares
 * them. Undefined if there is no such file, or the system's loader searches for the name.
 */
export function fileIdentity(path: string): string | undefined {
  if (!/[/\\]/.test(path)) return undefined
  // The times of files have no nanoseconds in Deno, so the core reads them.
  if (process.platform !== 'win32') return identityOfCore(path)
  try {
    const { dev, ino, size, mtimeNs } = statSync(path, { bigint: true })
    return `${dev} ${ino} ${size} ${mtimeNs}`
  } catch {
    return undefined
  }
}

function identityOfCore(path: string): string | undefined {
  const [name, text] = [Buffer.from(path), Buffer.alloc(CONSTANTS.TN_IDENTITY_SIZE)]
  const status = coreFunctions().tn_library_identity(addressOf(name), name.length, addressOf(text))
  return status === 0 ? text.toString('latin1', 0, text.indexOf(0)) : undefined
}

/**
 * Checks that a library which was opened is still that of the file at its path. Without an identity there is nothing to compare.
 *
 * @throws {LoadError} if the path has another file now
 */
export function checkFileIdentity(path: string, identity: string | undefined): void {
  if (identity === undefined || fileIdentity(path) === identity) return
  throw new LoadError(`the file ${path} was replaced after the library was opened`, {
    hint: 'Open the library again, which loads the new file. Functions that were found before run the code of the old one.',
    details: { path },
  })
}
