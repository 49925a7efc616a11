import { UnsupportedError } from '@tenon/core'
import { constants, createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import { fileError, readOptionFile } from '../files/option-file.ts'
import type { Log } from '../log/log.ts'

/** The paths of the files of the encryption. */
export interface TlsPaths {
  readonly cert: string
  readonly key: string
  readonly clientCa?: string
  readonly crl?: string
}

/**
 * Reads the files of the encryption.
 *
 * @throws {ArgumentError} for the first file that cannot be read or does not fit. Its `details` have the `name` of the option, the `path` and the `reason`.
 */
export function readContext(
  { cert, key, clientCa, crl }: TlsPaths,
  minVersion: 'TLSv1.2' | 'TLSv1.3',
  log: Log,
): SecureContextOptions {
  const certificates = readOptionFile('tls.cert', cert)
  const certificate = readCertificate(certificates, cert)
  const privateKey = readOptionFile('tls.key', key)
  if (!certificate.checkPrivateKey(readKey(privateKey, key))) {
    throw fileError('tls.key', 'the key of the certificate', key, `it is not the key of ${cert}`)
  }
  const { validTo } = certificate
  if (Date.parse(validTo) < Date.now()) log.write('warn', 'the certificate has expired', { path: cert, validTo })
  return {
    cert: certificates,
    key: privateKey,
    minVersion,
    honorCipherOrder: true,
    // A client could make the server compute handshakes without end.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
    ...(clientCa === undefined ? {} : { ca: readAuthorities(clientCa) }),
    ...(crl === undefined ? {} : { crl: readRevoked(crl) }),
  }
}

/** Returns the first certificate of a file, which is that of the server. */
function readCertificate(pem: Buffer, path: string): X509Certificate {
  try {
    createSecureContext({ cert: pem })
    return new X509Certificate(pem)
  } catch (error) {
    throw fileError('tls.cert', 'a certificate in the format PEM', path, reasonOf(error, pem, 'BEGIN CERTIFICATE'), {
      cause: error,
    })
  }
}

function readKey(pem: Buffer, path: string): KeyObject {
  try {
    return createPrivateKey(pem)
  } catch (error) {
    const isEncrypted = pem.includes('ENCRYPTED')
    const reason = isEncrypted
      ? 'it has a passphrase, for which the server does not ask'
      : reasonOf(error, pem, 'PRIVATE KEY')
    throw fileError('tls.key', 'a private key in the format PEM', path, reason, {
      cause: error,
      ...(isEncrypted ? { hint: 'Write it without one: openssl pkey -in old.key -out new.key.' } : {}),
    })
  }
}

/** Reads the authorities of clients. Without one, the server would refuse every client. */
function readAuthorities(path: string): Buffer {
  const pem = readOptionFile('tls.clientCa', path)
  try {
    void new X509Certificate(pem)
    createSecureContext({ ca: pem })
  } catch (error) {
    const reason = reasonOf(error, pem, 'BEGIN CERTIFICATE')
    throw fileError('tls.clientCa', 'the certificate of an authority in the format PEM', path, reason, {
      hint: 'Write the certificate of the authority, and not its key.',
      cause: error,
    })
  }
  return pem
}

const LISTS = /-----BEGIN X509 CRL-----.*?-----END X509 CRL-----/gs

/** Reads lists of revoked certificates. OpenSSL reads one from each text. */
function readRevoked(path: string): string[] {
  const lists = readOptionFile('tls.crl', path).toString('latin1').match(LISTS) ?? []
  const expected = 'lists of revoked certificates in the format PEM'
  if (lists.length === 0) {
    throw fileError('tls.crl', expected, path, 'it has none', {
      hint: 'Convert a list in the format DER: openssl crl -inform DER -in list.crl -out list.pem.',
    })
  }
  if (!knowsRevoked()) throw new UnsupportedError('this runtime does not check lists of revoked certificates (tls.crl)')
  try {
    createSecureContext({ crl: lists })
  } catch (error) {
    throw fileError('tls.crl', expected, path, 'one of them is damaged', { cause: error })
  }
  return lists
}

/** Whether the runtime reads lists of revoked certificates. One that ignores them would let revoked clients in. */
function knowsRevoked(): boolean {
  try {
    createSecureContext({ crl: 'no list' })
    return false
  } catch {
    return true
  }
}

/** Why OpenSSL does not read a text. @param word a part of the texts that it reads, for which OpenSSL would say `no start line`. */
function reasonOf(error: unknown, pem: Buffer, word: string): string {
  if (!pem.includes(word)) return 'it has none'
  const { reason, message } = error as { readonly reason?: string; readonly message: string }
  return reason ?? message
}
