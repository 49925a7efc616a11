/**
 * The process that measures one bench file: started by `run-file.ts`, with the file and the options as arguments, it sends
 * its reports to its parent.
 */
import { pathToFileURL } from 'node:url'

import { runSuite, type Report, type SuiteOptions } from './run-suite.ts'
import type { Suite } from './suite.ts'

// The first detach in an isolate makes all access through a DataView slower, for good: have it behind us.
new ArrayBuffer(8).transfer(0)

const [file, options] = process.argv.slice(2) as [string, string]

function report(message: Report): void {
  process.send!(message)
}

const { suite } = (await import(pathToFileURL(file).href)) as { suite?: Suite }
if (suite === undefined) throw new Error(`${file} must export a \`suite\``)
await runSuite(suite, JSON.parse(options) as SuiteOptions, report)
// What a row left running must not keep this process: it ends as soon as all reports are out.
process.once('disconnect', () => process.exit())
process.disconnect()
