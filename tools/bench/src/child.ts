/**
 * The process that measures one bench file. `run-file.ts` starts it with the file and the options as arguments, and receives
 * its reports.
 */
import { pathToFileURL } from 'node:url'

import { runSuite, type Report, type SuiteOptions } from './run-suite.ts'
import type { Suite } from './suite.ts'

// The first detach in an isolate makes every later access through a DataView slower, so it happens before any measurement.
new ArrayBuffer(8).transfer(0)

const [file, options] = process.argv.slice(2) as [string, string]

const sent: Promise<unknown>[] = []

function report(message: Report): void {
  sent.push(new Promise((resolve) => process.send!(message, resolve)))
}

const { suite } = (await import(pathToFileURL(file).href)) as { suite?: Suite }
if (suite === undefined) throw new Error(`${file} must export a \`suite\``)
await runSuite(suite, JSON.parse(options) as SuiteOptions, report)
// Deno does not send what waits when the channel is closed.
await Promise.all(sent)
// The process ends as soon as all reports are sent, even if a row left a timer or a worker running.
process.once('disconnect', () => process.exit())
process.disconnect()
