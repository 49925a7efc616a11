/**
 * `pnpm test:gpu`: the tests of CUDA against NVIDIA's driver and a real GPU, and the report of them in docs/gpu-report.md. Fails
 * where there is no GPU, with the loader's reason; a report of an earlier run stays then as it is.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { arch, release, tmpdir } from 'node:os'
import { join } from 'node:path'

import { runCommand, runMain, ToolError } from '@tenon/build'

import { neverRun, reportOf, wasRun, type Gpu, type TestedFile } from './lib/gpu-report.ts'
import { explainExitCode, printSummary, readReport } from './lib/reports.ts'
import { root } from './lib/root.ts'
import { runTool } from './lib/run-tool.ts'
import { runVitest } from './lib/vitest.ts'

const directory = join(root, 'packages/custom-call')
/** What needs no switches of the simulated driver. */
const tests = ['test/cuda.test.ts', 'test/cuda-fault.test.ts', 'test/cuda-nvcc.test.ts']
const reportPath = join(root, 'docs/gpu-report.md')

await runMain(async () => {
  const build = ['run', 'build', 'build:native', '--output-logs=errors-only', '--filter=@tenon/custom-call...']
  if ((await runTool('turbo', build)) !== 0) throw new ToolError('the build failed')
  const date = new Date().toISOString().slice(0, 10)
  const gpu = await probe()
  if ('reason' in gpu) {
    const kept = existsSync(reportPath) ? readFileSync(reportPath, 'utf8') : ''
    if (!wasRun(kept)) writeFileSync(reportPath, neverRun(date, gpu.reason))
    throw new ToolError(`nothing was tested, because there is no GPU here: ${gpu.reason}`)
  }

  const results = join(tmpdir(), `tenon-gpu-${process.pid}.json`)
  const code = await runVitest({ name: '@tenon/custom-call', directory }, results, tests, {
    TENON_CUDA: 'real',
  })
  const summary = explainExitCode(readReport(results, 'GPU'), code, 'vitest')
  const { testResults } = JSON.parse(readFileSync(results, 'utf8')) as { readonly testResults: readonly TestedFile[] }
  const machine = `${process.platform} ${release()} ${arch()}, Node ${process.versions.node}`
  writeFileSync(reportPath, reportOf({ date, machine, gpu, files: testResults }))
  process.stdout.write(`the report is in ${reportPath}\n`)
  printSummary(summary)
})

/** What there is, found in a process of its own: a driver may do anything. */
async function probe(): Promise<Gpu | { readonly reason: string }> {
  const script = join(directory, 'test/gpu-probe.ts')
  const { code, stdout, stderr } = await runCommand(process.execPath, ['--conditions=@tenon/source', script])
  if (code !== 0) throw new ToolError(`looking for a GPU failed:\n${stderr}`)
  return JSON.parse(stdout) as Gpu | { readonly reason: string }
}
