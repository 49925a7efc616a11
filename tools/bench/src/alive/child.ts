/** The process that measures one count of one row. `run-objects.ts` starts it and receives the sample. */
import { pathToFileURL } from 'node:url'
import { measureObjects } from './measure-objects.ts'
import type { AliveSuite, Objects } from './suite.ts'

// The first detach in an isolate makes every later access through a DataView slower, so it happens before any measurement.
new ArrayBuffer(8).transfer(0)

const [file, name, alive] = process.argv.slice(2) as [string, string, string]
const { suite } = (await import(pathToFileURL(file).href)) as { suite: AliveSuite }
const objects = suite.rows.find((row) => row.name === name)!.setup() as Objects
const sample = await measureObjects(objects, Number(alive))
objects.teardown?.()
// The process ends as soon as the sample is sent, even if objects left a timer or a worker running.
process.send!(sample, () => process.exit())
