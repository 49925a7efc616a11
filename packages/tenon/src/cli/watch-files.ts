import { statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { reportFailure } from './failure.ts'
import { printTalk } from './terminal.ts'

/** How often the files are looked at. A change counts when the files have been the same for this time. In milliseconds. */
const INTERVAL = 100

/**
 * Runs an action at once and after each change of the files that it returns, until the process is interrupted. After an action that fails,
 * the files stay those of the last one that succeeded.
 */
export async function watchFiles(command: string, action: () => Promise<readonly string[]>): Promise<void> {
  const ending = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => ending.abort())
  let files: readonly string[] = []
  while (!ending.signal.aborted) {
    const before = files
    const start = versionOf(before)
    try {
      files = same(before, await action())
    } catch (error) {
      // Without files there is nothing whose change could help.
      if (files.length === 0) throw error
      reportFailure(error, command)
    }
    // Nothing is known of changes of new files during the action.
    const version = files === before ? start : versionOf(files)
    printTalk(`watching ${files.length} files; press Ctrl+C to end`)
    await changeSince(version, files, ending.signal)
  }
}

/** The earlier list if both have the same files. */
const same = (before: readonly string[], now: readonly string[]): readonly string[] =>
  before.join('\n') === now.join('\n') ? before : now

/** Waits until the files have changed, and then until they stay as they are. */
async function changeSince(version: string, files: readonly string[], signal: AbortSignal): Promise<void> {
  for (let last = version; !signal.aborted;) {
    await sleep(INTERVAL, undefined, { signal }).catch(() => {})
    const now = versionOf(files)
    if (now !== version && now === last) return
    last = now
  }
}

/** A text that is different after a change of a file. Editors replace files, so the number of the file counts too. */
function versionOf(files: readonly string[]): string {
  return files
    .map((path) => {
      const status = statSync(path, { throwIfNoEntry: false })
      return status === undefined ? path : `${path} ${status.ino} ${status.size} ${status.mtimeMs}`
    })
    .join('\n')
}
