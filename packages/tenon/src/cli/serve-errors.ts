import { TenonError } from '@tenon/core'
import { InputError } from './input-error.ts'
import { UsageError } from './usage-error.ts'

/** The flags of the options of `createServer()`, by the names in its errors. */
const FLAGS: ReadonlyMap<string, string> = new Map([
  ['access', '--access'],
  ['allowClientSharedMemory', '--allow-client-shm'],
  ['allowPlainTokens', '--allow-plain-tokens'],
  ['allowedOrigins', '--allow-origin'],
  ['maxInFlightBytes', '--max-in-flight-bytes'],
  ['maxRequestBytes', '--max-request-bytes'],
  ["modelControl: 'explicit'", '--model-control explicit'],
  ['requestTimeout', '--request-timeout'],
  ['tls', '--tls-cert and --tls-key'],
  ['tls.cert', '--tls-cert'],
  ['tls.clientCa', '--tls-client-ca'],
  ['tls.crl', '--tls-crl'],
  ['tls.key', '--tls-key'],
])

/** A name of an option, which is no part of a path or of another word. The longest ones are first. */
const OPTION = new RegExp(
  `(?<![\\w./-])(?:${[...FLAGS.keys()]
    .toSorted((a, b) => b.length - a.length)
    .map((name) => name.replaceAll('.', '\\.'))
    .join('|')})(?![\\w/-]|\\.\\w)`,
  'g',
)

const withFlags = (text: string): string => text.replaceAll(OPTION, (name) => FLAGS.get(name)!)

/** Returns the error of a server that does not start, with the flags that the user typed instead of the options of `createServer()`. */
export function explainStart(error: unknown): unknown {
  if (!(error instanceof TenonError)) return explainAddress(String(error)) ?? error
  const { sentence, hint: own, details } = error
  const hint = own === undefined ? undefined : withFlags(own)
  const { name, path } = details
  if (typeof name !== 'string' || !FLAGS.has(name)) return new InputError(sentence, hint)
  // What the user wrote, such as a path, stays as it is.
  const [problem = '', ...values] = sentence.split(', got ')
  const text = [withFlags(problem), ...values].join(', got ')
  return path === undefined ? new UsageError(text, hint) : new InputError(text, hint)
}

/** The reasons for which the system refuses an address, with what to do. */
const ADDRESSES: Readonly<Record<string, readonly [reason: string, hint: string]>> = {
  EADDRINUSE: [
    'is in use',
    'End the program that listens there, or choose other ports with --http-port, --grpc-port and --monitoring-port. Each needs a port of its own, and 0 is a free one.',
  ],
  EADDRNOTAVAIL: [
    'is not one of this machine',
    'Write an address of this machine after --host and --monitoring-host. 0.0.0.0 is all of them.',
  ],
  EACCES: [
    'is not allowed for this user',
    'Choose ports from 1024 on with --http-port, --grpc-port and --monitoring-port.',
  ],
}

/** Says what is wrong with an address. Only the message of gRPC's server has it. */
function explainAddress(message: string): InputError | undefined {
  // The address is the first word with a point or a colon: `listen EADDRINUSE: address already in use 127.0.0.1:8000`.
  const [, code = '', address = ''] = /(E[A-Z]+): [a-z ]+? ([^\s,]*?[.:][^\s,\]]*)/.exec(message) ?? []
  const [reason, hint] = ADDRESSES[code] ?? []
  if (reason !== undefined) return new InputError(`the address ${address} ${reason}`, hint)
  const [, name] = /getaddrinfo E\w+ (\S+)/.exec(message) ?? []
  if (name === undefined) return undefined
  return new InputError(
    `there is no address for the name ${name}`,
    'Write an address of this machine after --host and --monitoring-host, such as 0.0.0.0.',
  )
}
