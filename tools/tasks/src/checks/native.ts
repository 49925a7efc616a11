import { relative } from 'node:path'

import { root } from '../lib/root.ts'
import { runNativeBuild } from '../lib/native.ts'
import { listPackages, withNativeTargets } from '../lib/workspace.ts'
import type { Check } from './check.ts'

/** Requires that all C and C++ compiles without warnings, imports only listed symbols, and matches the generated files. */
export const nativeCheck: Check = {
  name: 'native',
  async run() {
    const problems: string[] = []
    const packages = withNativeTargets(await listPackages())
    for (const { directory } of packages) {
      const result = await runNativeBuild(directory, ['--check'])
      if (result.code !== 0) problems.push(`${relative(root, directory)}: ${result.stderr}`)
    }
    return { problems, note: `${packages.length} packages` }
  },
}
