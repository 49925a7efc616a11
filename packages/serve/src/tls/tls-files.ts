import { ArgumentError } from '@tenon/core'
import { checkOptions, wrongType, wrongValue } from '@tenon/core/internal'
import type { SecureContextOptions, TlsOptions as NodeTlsOptions } from 'node:tls'
import { WatchedFiles } from '../files/watched-files.ts'
import type { Log } from '../log/log.ts'
import { readContext, type TlsPaths } from './read-context.ts'

/** The encryption of a server, for HTTP and gRPC. All files have the format PEM, and are read again when they change. */
export interface TlsOptions {
  /** The path of the certificate, with those of the authorities between it and the root. */
  readonly cert: string
  /** The path of the private key of the certificate. */
  readonly key: string
  /** The path of the certificates of authorities. Clients need a certificate of one of them. Default: clients need none. */
  readonly clientCa?: string
  /**
   * The path of the lists of revoked certificates (CRL), one for each authority of `clientCa`. A client whose certificate is in one of them is
   * refused, and so is every client while a list is missing or has expired. Default: no certificate counts as revoked.
   */
  readonly crl?: string
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
      crl,
      minVersion = 'TLSv1.2',
    } = checkOptions<TlsOptions>(options, ['cert', 'clientCa', 'crl', 'key', 'minVersion'], 'tls')
    if (minVersion !== 'TLSv1.2' && minVersion !== 'TLSv1.3') {
      throw wrongValue('tls.minVersion', "'TLSv1.2' or 'TLSv1.3'", minVersion)
    }
    const paths: TlsPaths = {
      cert: checkPath('cert', cert),
      key: checkPath('key', key),
      ...(clientCa === undefined ? {} : { clientCa: checkPath('clientCa', clientCa) }),
      ...(crl === undefined ? {} : { crl: checkPath('crl', crl) }),
    }
    if (paths.crl !== undefined && paths.clientCa === undefined) {
      throw new ArgumentError('tls.crl must be with tls.clientCa, because it is about certificates of clients', {
        details: { name: 'tls.crl' },
      })
    }
    const files = new TlsFiles(paths.clientCa !== undefined, timeout)
    files.#files = await WatchedFiles.open(
      {
        name: 'the certificates',
        paths: () => Object.values(paths),
        read: () => readContext(paths, minVersion, log),
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
