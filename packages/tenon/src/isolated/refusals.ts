import { ArgumentError } from '@tenon/core'

/** Refuses to prepare a call: its frame would lie in another process. @throws {ArgumentError} */
export function refusePrepare(name: string): never {
  throw new ArgumentError(`${name} must be called without prepare(), because its calls run in another process`, {
    hint: 'Call the kernel itself, which keeps what it has prepared for calls with the same types and attributes.',
    details: { path: name },
  })
}

/** Refuses an option that only calls in this process can have. @throws {ArgumentError} */
export function refuseStream(name: string, stream: unknown): void {
  if (stream === undefined) return
  throw new ArgumentError(`stream must not be given to ${name}, which runs on the CPU of another process`, {
    hint: `Call ${name} without a stream, or open the library with Library.open().`,
    details: { path: `the options of ${name}`, received: 'stream' },
  })
}
