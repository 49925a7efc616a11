import { TenonError } from '@tenon/core'
import { fileIdentity } from '@tenon/core/internal'
import { resolve } from 'node:path'
import type { Log } from '../log/log.ts'
import type { LineFields } from '../log/request-line.ts'

/** The time between two looks at the files, in milliseconds. */
const INTERVAL = 500

/** The files that something is read from, and how it is read. */
export interface FileSource<Contents> {
  /** The name of the contents in the log. */
  readonly name: string
  /** @returns the contents. @throws (or rejects with) why they are not valid. */
  read(): Contents | Promise<Contents>
  /** The paths of the files, of which there may be others after each reading. */
  paths(): readonly string[]
}

/**
 * Contents of files that are read again when the files change. The identity of a file belongs to the end of its links, so that a change of a link
 * counts, as Kubernetes changes secrets. If the new contents are not valid, the old ones stay, and the log has the reason.
 */
export class WatchedFiles<Contents> {
  readonly #source: FileSource<Contents>
  readonly #log: Log
  readonly #use: (contents: Contents) => void
  /** The identities of the files when they were read last, and when they were looked at last. */
  #read: string
  #seen: string
  #timer: NodeJS.Timeout | undefined
  #isReading = false

  private constructor(source: FileSource<Contents>, log: Log, use: (contents: Contents) => void, read: string) {
    this.#source = source
    this.#log = log
    this.#use = use
    this.#read = read
    this.#seen = read
    // It does not keep the process alive.
    this.#timer = setInterval(() => void this.#look(), INTERVAL).unref()
  }

  /**
   * Reads the files, and watches them until {@link close}.
   *
   * @param use gets the contents, now and after each change. @throws (rejects with) the error of the first reading.
   */
  static async open<Contents>(
    source: FileSource<Contents>,
    log: Log,
    use: (contents: Contents) => void,
  ): Promise<WatchedFiles<Contents>> {
    for (;;) {
      const paths = source.paths().join('\n')
      // Before they are read, so that a change in the meantime is one more change.
      const before = identitiesOf(source)
      const contents = await source.read()
      // One of the files can name others, whose identities were not known before.
      if (source.paths().join('\n') !== paths) continue
      use(contents)
      return new WatchedFiles(source, log, use, before)
    }
  }

  close(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  async #look(): Promise<void> {
    const now = identitiesOf(this.#source)
    // A certificate and its key may be written one after the other: wait until nothing changes.
    const isSettled = now === this.#seen
    this.#seen = now
    if (now === this.#read || !isSettled || this.#isReading) return
    this.#read = now
    this.#isReading = true
    const { name } = this.#source
    try {
      const contents = await this.#source.read()
      if (this.#timer === undefined) return
      this.#use(contents)
      this.#log.write('info', `${name} were read again`)
    } catch (error) {
      this.#log.write('error', `${name} cannot be read again, and the old ones stay`, fieldsOf(error))
    } finally {
      this.#isReading = false
    }
  }
}

const identitiesOf = (source: FileSource<unknown>): string =>
  source
    .paths()
    .map((path) => fileIdentity(resolve(path)) ?? 'none')
    .join('\n')

/** Why contents are not valid. The file and the reason are apart if the error has them, because the log has its own sentence. */
function fieldsOf(error: unknown): LineFields {
  const { path, reason } = error instanceof TenonError ? error.details : {}
  if (reason !== undefined) return { path, reason }
  return { reason: (error instanceof Error ? error.message : String(error)).split('\n', 1)[0] }
}
