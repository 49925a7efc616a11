import { AnswerReader, CONSTANTS, type RemoteHost, type RemoteKernel } from '@tenon/core/internal'
import { parseRegistrations } from '../native/read-registrations.ts'
import type { Registrations } from '../registration.ts'
import { damaged } from './remote-results.ts'

/**
 * Lists what a library registers in a worker, which loads the library first. Blocks this thread until the worker has answered.
 *
 * @throws {LoadError} if the library does not load. @throws {IsolationError} if the worker ends meanwhile
 */
export function remoteRegistrations(host: RemoteHost): Registrations {
  const kernel: RemoteKernel = {
    name: 'the registrations of TensorFlow',
    library: host.path,
    file: host.file,
    convention: CONSTANTS.TN_HOST_TENSORFLOW,
    symbols: ['', '', '', ''],
    operands: 0,
    results: 0,
    descriptor: new Uint8Array(),
  }
  const answer = new AnswerReader(host.allocator, {
    decode: ({ buffer }) => ({ value: Buffer.from(buffer), parts: [] }),
    malformed: damaged,
  })
  try {
    return host.run({
      kernel,
      operands: [],
      options: {},
      parts: (head) => answer.parts(head),
      read: (head) => parseRegistrations(answer.read(head)),
      failure: () => undefined,
    })
  } finally {
    host.forget(kernel)
  }
}
