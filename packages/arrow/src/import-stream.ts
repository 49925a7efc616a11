import { ArgumentError } from '@tenon/core'
import { checkOptions, LAYOUTS, wrongType } from '@tenon/core/internal'
import { ArrowStream } from './arrow-stream.ts'
import { KIND, takeStruct } from './import/owned.ts'
import { type ArrowAddress, structAddress } from './import/struct-address.ts'

/** Options of {@link importStream}. */
export interface ImportStreamOptions {
  /** Whether the tensors of batches may be written in place. Arrow's consumers must not write. */
  readonly writable?: boolean
}

/**
 * Takes over an `ArrowArrayStream` struct, and reads its schema. The struct is released when the stream is closed, at the end of a loop over
 * it, and otherwise when the garbage collector has found it.
 *
 * @param stream where the struct is. It is moved, so it is released afterwards, also if the import fails.
 * @throws {ArgumentError} if the value is not an address, or the struct is released. @throws {ArrowError} if the stream cannot say its schema.
 */
export function importStream(stream: ArrowAddress, options?: ImportStreamOptions): ArrowStream {
  const { writable = false } = checkOptions(options, ['writable'])
  if (typeof writable !== 'boolean') throw wrongType('writable', 'true or false', writable)
  const owned = takeStruct(KIND.stream, structAddress(stream, 'stream', LAYOUTS.tn_arrow_stream_t.size))
  if (owned !== undefined) return new ArrowStream(owned, writable)
  throw new ArgumentError('stream must be a struct that is not released', {
    hint: 'Import a struct once, right after it was filled: it has one consumer.',
  })
}
