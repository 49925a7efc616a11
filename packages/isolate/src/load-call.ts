import { basename } from 'node:path'
import type { RemoteHost, RemoteKernel } from '@tenon/core/internal'
import type { WorkerCall } from './host/worker-call.ts'
import { requestFailure, withWorker } from './request-failure.ts'

/**
 * Describes the loading of a library as a call without operands.
 *
 * @param library of the workers. @param deadline in milliseconds; undefined for that of the workers.
 */
export function loadCall(
  { path, file }: Pick<RemoteHost, 'path' | 'file'>,
  deadline: number | undefined,
): WorkerCall<void> {
  const kernel: RemoteKernel = {
    name: `loading ${basename(path)}`,
    library: path,
    file,
    convention: 0,
    symbols: ['', '', '', ''],
    operands: 0,
    results: 0,
    descriptor: new Uint8Array(0),
  }
  return {
    kernel,
    operands: [],
    deadline,
    read: () => {},
    failure: (answer, details) => withWorker(requestFailure(kernel, answer), details),
  }
}
