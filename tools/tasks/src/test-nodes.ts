/**
 * The command `pnpm test:nodes [--node 22,24,26] [--filter package] [files]`, which builds once, and runs the tests of packages and
 * examples on each tested version of Node.js with this one build. `files` are parts of the paths of test files, by default all.
 */
import { globSync } from 'node:fs'
import { parseArgs } from 'node:util'

import { findNode, testedNodes } from '@tenon/config/node-versions'
import { runMain, ToolError } from '@tenon/build'

import { addSummaries, printCounts, printSummary, type TestSummary } from './lib/reports.ts'
import { build } from './lib/turbo.ts'
import { listTestedPackages, runVitest, type TestedPackage } from './lib/vitest.ts'

await runMain(async () => {
  const { values, positionals: files } = parseArgs({
    allowPositionals: true,
    options: {
      node: { type: 'string', default: testedNodes.join(',') },
      filter: { type: 'string', multiple: true, default: [] },
    },
  })
  const majors = values.node.split(',')
  const unknown = majors.find((major) => !testedNodes.includes(major))
  if (unknown !== undefined)
    throw new ToolError(`--node must be a list of ${testedNodes.join(', ')} with commas, got ${values.node}`)
  const filters = values.filter.map((filter) => `--filter=${filter}`)
  const tested = (await listTestedPackages(filters)).filter((pkg) => hasTests(pkg, files))
  if (tested.length === 0) throw new ToolError(`no test file matches ${files.join(' or ')}`)
  await build(filters)

  const summaries: TestSummary[] = []
  for (const major of majors) {
    process.stdout.write(`tests on ${findNode(major)}\n`)
    for (const { name, directory } of tested) {
      const label = `${name} (Node ${major})`
      const summary = await runVitest({ name: label, directory }, `node-${major}`, files, { TENON_NODE: major })
      summaries.push(printCounts(summary, label))
    }
  }
  printSummary(addSummaries(summaries))
})

function hasTests({ directory }: TestedPackage, files: readonly string[]): boolean {
  const paths = globSync('test/**/*.test.ts', { cwd: directory })
  return files.length === 0 || paths.some((path) => files.some((file) => path.includes(file)))
}
