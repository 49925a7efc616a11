import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Definition } from './definition.ts'
import { defineSubCommand, type SubCommand } from './sub-command.ts'
import { printData } from './terminal.ts'
import { UsageError } from './usage-error.ts'

const args = {
  cmake: { type: 'boolean', description: 'print the directory of TenonConfig.cmake, for Tenon_DIR of CMake' },
  'pkg-config': { type: 'boolean', description: 'print the directory of tenon.pc, for PKG_CONFIG_PATH' },
  json: { type: 'boolean', description: 'print one JSON document, with all directories' },
} as const satisfies Definition

/** The command `tenon include`, which prints the directory of the C headers, or of the files with which build tools find them. */
export const includeCommand: SubCommand = defineSubCommand({
  meta: { name: 'include', description: 'Print the directory of the C headers, for the option -I of a compiler' },
  args,
  run({ cmake: isCmake, 'pkg-config': isPkgConfig, json }) {
    if (isCmake && isPkgConfig) throw new UsageError('--cmake cannot be combined with --pkg-config')
    const core = dirname(createRequire(import.meta.url).resolve('@tenon/core/package.json'))
    const [directory, cmake, pkgConfig] = ['include', 'cmake', 'dist/pkgconfig'].map((folder) => join(core, folder))
    if (json) printData(JSON.stringify({ directory, cmake, pkgConfig }, undefined, 2))
    else printData(isCmake ? cmake! : isPkgConfig ? pkgConfig! : directory!)
  },
})
