import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const compiler = fileURLToPath(new URL('../../../../node_modules/typescript/bin/tsc', import.meta.url))
const flags =
  '--noEmit --ignoreConfig --strict --exactOptionalPropertyTypes --noUncheckedIndexedAccess --skipLibCheck false --module nodenext --target esnext --types node'

/** Returns the errors of the strict compiler for a program in a directory. */
export function typeCheck(directory: string, name: string, text: string): string {
  const path = join(directory, name)
  writeFileSync(path, text)
  const { stdout } = spawnSync(process.execPath, [compiler, ...flags.split(' '), path], {
    cwd: directory,
    encoding: 'utf8',
  })
  return stdout
}
