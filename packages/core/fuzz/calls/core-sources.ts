import { globSync } from 'node:fs'
import { join } from 'node:path'

import type { Abi } from '../../src/native/call/call-plan.ts'

const core = join(import.meta.dirname, '../..')

const machineCode: Readonly<Record<Abi, string>> = {
  'sysv-x64': 'csrc/call/sysv_x64.S',
  aapcs64: 'csrc/call/aapcs64.S',
  'apple-arm64': 'csrc/call/aapcs64.S',
  win64: 'csrc/call/win64.S',
}

export const coreFlags: readonly string[] = [
  '-DTN_VERSION=""',
  ...['csrc/include', 'include'].map((folder) => `-I${join(core, folder)}`),
]

/** The sources of the core that make calls and stubs, and `runner.c` with a function that throws. */
export function coreSourcesOf(abi: Abi): string[] {
  const system = abi === 'win64' ? 'win32' : 'posix'
  const thrower = abi === 'win64' ? ['fuzz/calls/throw_windows.c'] : ['fuzz/calls/throw.cc', 'csrc/call/guard.cc']
  const sources = globSync(['csrc/{base,call}/*.c', `csrc/{base,call}/${system}/*.c`], { cwd: core })
  return [...sources, machineCode[abi], 'fuzz/calls/runner.c', ...thrower].map((source) => join(core, source))
}
