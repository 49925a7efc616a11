import { ArgumentError } from '@tenon/core'
import { checkOptions, wrongType, wrongValue } from '@tenon/core/internal'
import { constants, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext, type SecureContextOptions, type TlsOptions as NodeTlsOptions } from 'node:tls'
import { WatchedFiles } from '../files/watched-files.ts'
import type { Log } from '../log/log.ts'

/** The encryption of a server, for HTTP and gRPC. All files have the format PEM, and are read again when they change. */
export interface TlsOptions {
  /** The path of the certificate, with those of the authorities between it and the root. */
  readonly cert: string
  /** The path of the private key of the certificate. */
  readonly key: string
  /** The path of the certificates of authorities. Clients need a certificate of one of them. Default: clients need none. */
  readonly clientCa?: string
  /** The lowest version of TLS. Default: `TLSv1.2`. */
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3'
}

/** The longest time for a handshake, in milliseconds. */
const HANDSHAKE_TIMEOUT = 10_000

/** The certificate and the key of a server, and what changes with them. */
export class TlsFiles {
  readonly #hasClientCa: boolean
  readonly #timeout: number
  readonly #listeners = new Set<(context: SecureContextOptions) => void>()
  #context: SecureContextOptions | undefined
  #files: WatchedFiles<SecureContextOptions> | undefined

  private constructor(hasClientCa: boolean, timeout: number) {
    this.#hasClientCa = hasClientCa
    this.#timeout = timeout
  }

  /**
   * @param timeout the longest time for a request to arrive, in milliseconds.
   * @throws (rejects with) {ArgumentError} if a file cannot be read, or the key is not that of the certificate.
   */
  static async open(options: TlsOptions, log: Log, timeout: number): Promise<TlsFiles> {
    const {
      cert,
      key,
      clientCa,
      minVersion = 'TLSv1.2',
    } = checkOptions<TlsOptions>(options, ['cert', 'clientCa', 'key', 'minVersion'], 'tls')
    if (minVersion !== 'TLSv1.2' && minVersion !== 'TLSv1.3') {
      throw wrongValue('tls.minVersion', "'TLSv1.2' or 'TLSv1.3'", minVersion)
    }
    const paths = { cert: checkPath('cert', cert), key: checkPath('key', key) }
    const ca = clientCa === undefined ? undefined : checkPath('clientCa', clientCa)
    const files = new TlsFiles(ca !== undefined, timeout)
    files.#files = await WatchedFiles.open(
      {
        name: 'the certificates',
        paths: () => [paths.cert, paths.key, ...(ca === undefined ? [] : [ca])],
        read: () => readContext(paths, ca, minVersion, log),
      },
      log,
      (context) => files.#replace(context),
    )
    return files
  }

  /** The options of a listener of Node.js, with the files as they are now. */
  get listenOptions(): NodeTlsOptions {
    const requestCert = this.#hasClientCa
    return {
      ...this.context,
      requestCert,
      rejectUnauthorized: requestCert,
      handshakeTimeout: Math.min(HANDSHAKE_TIMEOUT, this.#timeout),
    }
  }

  get context(): SecureContextOptions {
    return this.#context!
  }

  /** Calls a function with each later state of the files. */
  onChange(listener: (context: SecureContextOptions) => void): void {
    this.#listeners.add(listener)
  }

  #replace(context: SecureContextOptions): void {
    this.#context = context
    for (const listener of this.#listeners) listener(context)
  }

  close(): void {
    this.#files?.close()
    this.#listeners.clear()
  }
}

function checkPath(name: string, path: unknown): string {
  if (typeof path === 'string' && path !== '') return path
  throw wrongType(`tls.${name}`, 'the path of a file', path)
}

function readContext(
  paths: { readonly cert: string; readonly key: string },
  clientCa: string | undefined,
  minVersion: 'TLSv1.2' | 'TLSv1.3',
  log: Log,
): SecureContextOptions {
  const context: SecureContextOptions = {
    cert: readPem('cert', paths.cert),
    key: readPem('key', paths.key),
    minVersion,
    honorCipherOrder: true,
    // A client could make the server compute handshakes without end.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
    ...(clientCa === undefined ? {} : { ca: readAuthorities(clientCa) }),
  }
  let certificate: X509Certificate
  try {
    createSecureContext(context)
    certificate = new X509Certificate(context.cert as Buffer)
  } catch (error) {
    throw new ArgumentError(`tls must have a certificate and its key: ${(error as Error).message}`, {
      hint: 'Check that the files are PEM, and that they belong together.',
      cause: error,
    })
  }
  if (Date.parse(certificate.validTo) < Date.now()) {
    log.write('warn', 'the certificate has expired', { validTo: certificate.validTo })
  }
  return context
}

/** Reads the authorities of clients. Without one, the server would refuse every client. */
function readAuthorities(path: string): Buffer {
  const pem = readPem('clientCa', path)
  try {
    void new X509Certificate(pem)
  } catch (error) {
    throw new ArgumentError(`tls.clientCa must have the certificate of an authority: ${(error as Error).message}`, {
      hint: `Check that ${path} is PEM, and has the certificate of the authority and not its key.`,
      cause: error,
    })
  }
  return pem
}

function readPem(name: string, path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new ArgumentError(`tls.${name} must be the path of a file that can be read, got ${path}`, { cause: error })
  }
}
