#!/usr/bin/env node
import { ToolError, runMain } from '../tool-error.ts'
import { loadPackage } from '../load-package.ts'
import { runNativeTests } from '../run-tests.ts'
import { parseVariant } from '../flags.ts'

await runMain(async () => {
  const pkg = await loadPackage(process.cwd())
  const report = await runNativeTests(pkg, parseVariant(process.env['TENON_VARIANT']))
  for (const { name, ok, message } of report.tests) {
    process.stdout.write(ok ? `ok - ${name}\n` : `not ok - ${name}: ${message}\n`)
  }
  process.stdout.write(`${report.passed} passed, ${report.failed} failed\n`)
  if (report.failed > 0) throw new ToolError(`${pkg.name}: ${report.failed} native tests failed`)
})
