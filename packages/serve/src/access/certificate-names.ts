import type { X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'

/** One of the alternative names in the text of Node.js. A value that has a comma, or could be taken for two, is in quotes. */
const ALTERNATIVE = /(?:^|, )([\w ]+):(?:"(?:[^"\\]|\\.)*"|([^",]*))/gy

/** The kinds of alternative names that name a client. */
const KINDS: ReadonlySet<string> = new Set(['DNS', 'URI', 'email'])

/**
 * The names of the client whose certificate a connection has: its alternative names of the kinds URI (such as a SPIFFE ID), DNS and email.
 * Without alternative names of any kind, it is the common name of its subject.
 *
 * @returns undefined without a certificate that was verified.
 */
export function certificateNames(socket: Socket | undefined): readonly string[] | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined
  const certificate = socket.getPeerX509Certificate()
  return certificate === undefined ? undefined : namesOf(certificate)
}

function namesOf({ subject, subjectAltName }: X509Certificate): readonly string[] {
  if (subjectAltName !== undefined) {
    return [...subjectAltName.matchAll(ALTERNATIVE)].flatMap(([, kind, name = '']) =>
      KINDS.has(kind!) && name !== '' ? [name] : [],
    )
  }
  const common = subject.split('\n').filter((line) => line.startsWith('CN='))
  // Several of them would leave open which one is meant, and authorities check URIs and addresses elsewhere only.
  return common.length === 1 && !/[:@]/.test(common[0]!) ? [common[0]!.slice(3)] : []
}
