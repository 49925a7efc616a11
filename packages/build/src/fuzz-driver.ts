import { globSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'

import type { Toolchain } from './compiler.ts'
import { driverFlags } from './flags.ts'
import type { ObjectFile } from './object-files.ts'
import { hashOf } from './stamps.ts'

const directory = join(import.meta.dirname, '../csrc')

/** Plans the objects of the fuzz driver, which is part of every fuzz program. */
export function planFuzzDriver(packageDirectory: string, toolchain: Toolchain): ObjectFile[] {
  const compiler = toolchain.get('c')!
  const contents = globSync('*', { cwd: directory })
    .toSorted()
    .map((file) => readFileSync(join(directory, file)))
  return globSync('*.c', { cwd: directory }).map((file) => ({
    source: relative(packageDirectory, join(directory, file)),
    compiler,
    flags: driverFlags,
    output: `objects/fuzz-driver/${file}.o`,
    hash: hashOf([compiler.identity, ...driverFlags, file, ...contents]),
  }))
}
