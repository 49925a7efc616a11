/** The thread of {@link file://./piscina.ts}: runs one operation of koffi for each task. */
import type { Setup } from '../contestant.ts'
import { openKoffi } from './koffi.ts'
import type { RemoteCall } from './remote-call.ts'

const operations = openKoffi(JSON.parse(process.argv[2]!) as Setup)

// oxlint-disable-next-line import/no-default-export -- piscina calls the default export.
export default function run({ operation, values }: RemoteCall): unknown {
  return (operations[operation] as (...arguments_: unknown[]) => unknown)(...values)
}
