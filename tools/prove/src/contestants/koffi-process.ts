/** The process of {@link file://./child-process.ts}: runs one operation of koffi for each message. */
import type { Setup } from '../contestant.ts'
import { openKoffi } from './koffi.ts'
import type { RemoteCall } from './remote-call.ts'

const operations = openKoffi(JSON.parse(process.argv[2]!) as Setup)

process.on('message', ({ operation, values }: RemoteCall) => {
  try {
    const value = (operations[operation] as (...arguments_: unknown[]) => unknown)(...values)
    process.send!({ value })
  } catch (error) {
    process.send!({ error })
  }
})
process.on('disconnect', () => process.exit())
