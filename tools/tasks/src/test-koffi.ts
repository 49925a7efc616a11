/**
 * The command `pnpm test:koffi [turbo options]`, which runs the tests of core and of the packages of the five designs, arrow and weights with the
 * core through koffi. Only the tests of a list may fail, and those must.
 */
import { runMain } from '@tenon/build'

import { type KnownFailure, withoutKnown } from './lib/known-failures.ts'
import { addSummaries, printCounts, printSummary, type TestSummary } from './lib/reports.ts'
import { build } from './lib/turbo.ts'
import { listTestedPackages, runVitest } from './lib/vitest.ts'

const packages = new Set(
  ['core', 'scope', 'pools', 'tstring', 'packed-func', 'custom-call', 'tensorflow', 'arrow', 'weights'].map(
    (name) => `@tenon/${name}`,
  ),
)

const buffers = 'buffers of koffi end when their memory is closed, and are no SharedArrayBuffer'
const size = 'a buffer of koffi takes more memory than one of the module for Node.js'

const known: readonly KnownFailure[] = [
  { package: '@tenon/core', title: 'a raw view cannot be transferred to another thread', reason: buffers },
  { package: '@tenon/scope', title: 'a file that is mapped without a scope', reason: buffers },
  { package: '@tenon/pools', title: 'handle() Atomics.wait() and notify()', reason: buffers },
  { package: '@tenon/pools', title: 'handle() memory in a worker lives on after the owner', reason: buffers },
  { package: '@tenon/pools', title: 'handle() raw views in a worker stay valid', reason: buffers },
  { package: '@tenon/pools', title: 'rights a sealed memory gives its chunks back', reason: buffers },
  { package: '@tenon/pools', title: 'SharedMemory free ranges of 1 MiB', reason: buffers },
  { package: '@tenon/pools', title: 'terminate() closes all that threads have', reason: buffers },
  { package: '@tenon/custom-call', title: 'a result of a call takes at most 400 bytes', reason: size },
  {
    package: '@tenon/custom-call',
    title: 'guard mode the garbage collector frees guarded memory',
    reason: 'what a worker leaves to the collector is freed only if the worker runs when it ends',
  },
]

await runMain(async () => {
  const args = process.argv.slice(2)
  const tested = (await listTestedPackages(args)).filter(({ name }) => packages.has(name))
  await build(tested.map(({ name }) => `--filter=${name}...`))
  const summaries: TestSummary[] = []
  for (const pkg of tested) {
    const ofPackage = known.filter((failure) => failure.package === pkg.name)
    const summary = withoutKnown(await runVitest(pkg, 'koffi', [], { TENON_DRIVER: 'koffi' }), ofPackage)
    summaries.push(printCounts(summary, `${pkg.name} (koffi)`))
  }
  for (const { package: name, title, reason } of known)
    process.stdout.write(`known to fail: ${name}: ${title}: ${reason}\n`)
  printSummary(addSummaries(summaries))
})
