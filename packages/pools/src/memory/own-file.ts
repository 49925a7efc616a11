import { lstatSync, unlinkSync } from 'node:fs'

/** A file that this process has made, and removes when it ends. */
export interface OwnFile {
  readonly path: string
  readonly inode: bigint
}

const files = new Set<OwnFile>()
let isListening = false

/** Removes the file at the path when the process ends, unless {@link removeOwn} has removed it. */
export function ownFile(path: string): OwnFile {
  const file = { path, inode: lstatSync(path, { bigint: true }).ino }
  if (!isListening) process.once('exit', () => files.forEach(removeOwn))
  isListening = true
  files.add(file)
  return file
}

/** Removes the file, unless another one has its name now. */
export function removeOwn(file: OwnFile): void {
  files.delete(file)
  try {
    if (lstatSync(file.path, { bigint: true }).ino === file.inode) unlinkSync(file.path)
  } catch {
    // Somebody has removed it.
  }
}
