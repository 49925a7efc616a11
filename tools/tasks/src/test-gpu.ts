/**
 * The command `pnpm test:gpu`, which runs the tests and the examples of CUDA against NVIDIA's driver and a real GPU, and writes
 * docs/gpu-report.md. Without a GPU it fails with the loader's reason, and keeps the report of an earlier run.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { arch, release } from 'node:os'
import { join } from 'node:path'

import { runMain, ToolError } from '@tenon/build'
import { runCommand } from '@tenon/build/internal'

import { neverRun, reportOf, wasRun, type Gpu, type TestedFile } from './lib/gpu-report.ts'
import { addSummaries, printSummary, type TestSummary } from './lib/reports.ts'
import { root } from './lib/root.ts'
import { build } from './lib/turbo.ts'
import { runVitest } from './lib/vitest.ts'

const directory = join(root, 'packages/custom-call')
/** The tests that do not use the switches of the simulated driver. */
const tests = [
  {
    name: '@tenon/custom-call',
    directory,
    files: ['cuda', 'cuda-fault', 'cuda-nvcc', 'cuda-scratch'].map((name) => `test/${name}.process.test.ts`),
  },
  { name: '@tenon/designs', directory: join(root, 'examples/designs'), files: ['test/gpu.test.ts'] },
]
const reportPath = join(root, 'docs/gpu-report.md')

await runMain(async () => {
  await build(tests.map(({ name }) => `--filter=${name}...`))
  const date = new Date().toISOString().slice(0, 10)
  const gpu = await probe()
  if ('reason' in gpu) {
    const kept = existsSync(reportPath) ? readFileSync(reportPath, 'utf8') : ''
    if (!wasRun(kept)) writeFileSync(reportPath, neverRun(date, gpu.reason))
    throw new ToolError(`nothing was tested, because this machine has no GPU: ${gpu.reason}`)
  }

  const files: TestedFile[] = []
  const summaries: TestSummary[] = []
  for (const tested of tests) {
    summaries.push(await runVitest(tested, 'gpu', tested.files, { TENON_CUDA: 'real' }))
    const results = readFileSync(join(tested.directory, 'reports/gpu.json'), 'utf8')
    files.push(...(JSON.parse(results) as { readonly testResults: readonly TestedFile[] }).testResults)
  }
  const machine = `${process.platform} ${release()} ${arch()}, Node ${process.versions.node}`
  writeFileSync(reportPath, reportOf({ date, machine, gpu, files }))
  process.stdout.write(`the report is in ${reportPath}\n`)
  printSummary(addSummaries(summaries))
})

/** Looks for a GPU in a new process, because a driver can end its process. */
async function probe(): Promise<Gpu | { readonly reason: string }> {
  const script = join(directory, 'test/gpu-probe.ts')
  const { code, stdout, stderr } = await runCommand(process.execPath, ['--conditions=@tenon/source', script])
  if (code !== 0) throw new ToolError(`looking for a GPU failed:\n${stderr}`)
  return JSON.parse(stdout) as Gpu | { readonly reason: string }
}
