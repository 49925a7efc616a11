import { copyFileSync, globSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/**
 * Copies the built core to a directory, with a module that refuses buffers over native memory, as Electron does.
 *
 * @param core the path of the library of the core
 * @returns the value of `TENON_CORE_LIBRARY` that makes a process use it
 */
export function copyCoreWithoutBuffers(core: string, directory: string): string {
  const from = dirname(core)
  for (const name of globSync('*.{so,dylib}', { cwd: from })) copyFileSync(join(from, name), join(directory, name))
  copyFileSync(join(from, 'tenon-host'), join(directory, 'tenon-host'))
  copyFileSync(join(from, 'without_buffers.node'), join(directory, 'tenon.node'))
  return join(directory, basename(core))
}
