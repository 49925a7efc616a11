import { Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js'
import { readFileSync } from 'node:fs'
import { request as httpsRequest } from 'node:https'
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls'
import { onTestFinished } from 'vitest'
import type { Certificate } from './certificates.ts'
import type { Served } from './support.ts'

export const read = ({ cert, key }: Certificate): { readonly cert: Buffer; readonly key: Buffer } => ({
  cert: readFileSync(cert),
  key: readFileSync(key),
})

/** One request over HTTPS. Rejects with the code of the error of a connection that fails. */
export function get(
  { server }: Served,
  path: string,
  options: object,
): Promise<{ readonly status: number; readonly text: string; readonly serial: string }> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest(
      { host: '127.0.0.1', port: server.port, path, agent: false, ...options },
      (response) => {
        const { serialNumber } = (response.socket as TLSSocket).getPeerCertificate()
        let text = ''
        response.on('data', (chunk: Buffer) => (text += chunk.toString()))
        response.on('end', () => resolve({ status: response.statusCode!, text, serial: serialNumber }))
      },
    )
    request.on('error', reject).end()
  })
}

/** Asks for the metadata of the server over gRPC. @returns the code of the status. */
export function call(
  { server }: Served,
  ca: Buffer,
  own?: Certificate,
  headers: Readonly<Record<string, string>> = {},
): Promise<number> {
  const { cert = null, key = null } = own === undefined ? {} : read(own)
  const client = new Client(`127.0.0.1:${server.grpcPort}`, credentials.createSsl(ca, key, cert))
  const metadata = new Metadata()
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value)
  return new Promise((resolve) => {
    client.makeUnaryRequest(
      '/inference.GRPCInferenceService/ServerMetadata',
      (bytes: Buffer) => bytes,
      (bytes) => bytes,
      Buffer.alloc(0),
      metadata,
      { deadline: Date.now() + 10_000 },
      (error: ServiceError | null) => {
        client.close()
        resolve(error?.code ?? 0)
      },
    )
  })
}

/** Begins a connection with encryption. Rejects with an error of the handshake. */
export function handshake(port: number, options: ConnectionOptions): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ host: '127.0.0.1', port, ...options }, () => resolve(socket))
    socket.on('error', reject)
    onTestFinished(() => void socket.destroy())
  })
}

/** A session that a client can resume. Rejects if the connection ends before the server gives one. */
export function firstSession(options: ConnectionOptions): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = connectTls(options)
    socket.once('session', (session: Buffer) => {
      resolve(session)
      socket.destroy()
    })
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('closed')))
    socket.write('GET /v2 HTTP/1.1\r\nhost: localhost\r\n\r\n')
  })
}
