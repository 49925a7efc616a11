/**
 * The command `pnpm release:rehearse DIRECTORY [--node 22,24,26]`, which publishes the tarballs of a folder to a registry on this machine,
 * installs them with npm, pnpm and Yarn in empty projects without caches, and uses each package on each tested version of Node.js. It prints
 * a table, and ends with 1 if anything fails: also if pnpm asks about an install script of the umbrella, or if an installation is
 * larger than the documentation says. Needs npm's registry for the packages of others.
 */
import { parseArgs } from 'node:util'

import { testedNodes } from '@tenon/config/node-versions'
import { runMain, ToolError } from '@tenon/build'

import { checkInstallation } from './rehearse/installation.ts'
import { rehearse } from './rehearse/rehearsal.ts'
import { smokePrograms } from './rehearse/smoke.ts'
import { useEverywhere } from './rehearse/use-everywhere.ts'

await runMain(async () => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { node: { type: 'string', default: testedNodes.join(',') } },
  })
  const [folder, ...more] = positionals
  if (folder === undefined || more.length > 0) throw new ToolError('pnpm release:rehearse needs one folder of tarballs')
  await rehearse(folder, async (rehearsal) => {
    const leftOut = {
      package: 'tenon',
      imports: `import { tensor } from 'tenon'`,
      call: 'tensor([1])',
      error: /^TENON_LOAD .*optional dependencies/s,
    }
    await useEverywhere(rehearsal, values.node, smokePrograms, [leftOut])
    await checkInstallation(rehearsal)
  })
})
