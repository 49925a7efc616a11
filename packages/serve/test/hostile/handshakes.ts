import type { ConnectionOptions } from 'node:tls'

/** Bytes that a client sends to a port with encryption, and then waits. */
export const brokenHandshakes: readonly (readonly [name: string, bytes: Buffer])[] = [
  ['a request of HTTP', Buffer.from('GET /v2 HTTP/1.1\r\nhost: localhost\r\n\r\n')],
  ['the beginning of HTTP/2', Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')],
  ['zeros', Buffer.alloc(1024)],
  ['bytes of any kind', Buffer.from(Array.from({ length: 4096 }, (_, i) => (i * 151 + 43) % 256))],
  ['a hello of SSL 2', Buffer.from('802e0100020015000000100100800200800300800400800500800600400700c0', 'hex')],
  ['a record of the largest length', Buffer.from('160301ffff', 'hex')],
  ['records without contents', Buffer.from('1603010000'.repeat(64), 'hex')],
  ['an alert', Buffer.from('15030100020228', 'hex')],
  ['the end of an encryption that did not begin', Buffer.from('15030300020100', 'hex')],
  ['data before a handshake', Buffer.from('17030300050102030405', 'hex')],
  ['a change of the cipher before a handshake', Buffer.from('140303000101', 'hex')],
  ['a hello with a length of 16 MiB', Buffer.from('16030100040100ffffff', 'hex')],
]

/** Options of clients whose handshake a server must refuse. */
export const wrongOptions: readonly (readonly [name: string, options: ConnectionOptions])[] = [
  ['TLS 1.0', { minVersion: 'TLSv1', maxVersion: 'TLSv1', ciphers: 'ALL:@SECLEVEL=0' }],
  ['TLS 1.1', { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' }],
  ['ciphers without encryption', { maxVersion: 'TLSv1.2', ciphers: 'eNULL:@SECLEVEL=0' }],
  ['ciphers without a certificate', { maxVersion: 'TLSv1.2', ciphers: 'aNULL:@SECLEVEL=0' }],
  ['a protocol that the server does not have', { ALPNProtocols: ['spdy/3'] }],
]
