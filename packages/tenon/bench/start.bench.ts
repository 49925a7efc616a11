import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import type { Suite } from '@tenon/bench'
import { kernelLibrary } from '@tenon/kernels'

const FIRST_CALL = join(import.meta.dirname, 'first-call.mjs')
/** `--conditions` for the sources of the workspace. The other options of this process are for benchmarks. */
const CONDITIONS = process.execArgv.filter((option) => option.startsWith('--conditions'))

/** Runs a whole process of Node.js. @throws {Error} if it fails. */
function runNode(...args: string[]): void {
  const { status, stderr } = spawnSync(process.execPath, [...CONDITIONS, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  if (status !== 0) throw new Error(`node ${args.join(' ')} failed:\n${stderr}`)
}

export const suite = {
  package: 'tenon',
  rows: [
    {
      name: 'process that imports tenon and makes the first call',
      unit: 'ms',
      setup: () => {
        const library = kernelLibrary('kernels')
        return {
          ours: () => runNode(FIRST_CALL, library),
          peers: { 'node -e 0': () => runNode('-e', '0') },
        }
      },
    },
    {
      name: 'process that imports tenon',
      unit: 'ms',
      setup: () => ({
        ours: () => runNode('--input-type=module', '-e', `import ${JSON.stringify(import.meta.resolve('tenon'))}`),
        peers: { 'node -e 0 as a module': () => runNode('--input-type=module', '-e', '0') },
      }),
    },
  ],
} satisfies Suite
