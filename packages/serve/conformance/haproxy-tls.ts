import { Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js'
import { createHash, randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createClient, UnauthenticatedError } from '../src/client.ts'
import { Authority } from '../test/certificates.ts'
import type { Proxy, ProxyTls } from './proxy.ts'

/** Makes certificates and a token. @returns them for haproxy, and the flags of the replicas. */
export function makeTls(folder: string): { readonly tls: ProxyTls; readonly flags: readonly string[] } {
  const [inner, outer] = [new Authority(folder, 'ca'), new Authority(folder, 'outer')]
  const replica = inner.certifyServer()
  const proxy = outer.certifyServer()
  writeFileSync(join(folder, 'proxy.pem'), readFileSync(proxy.cert) + readFileSync(proxy.key, 'utf8'))
  const token = randomBytes(32).toString('hex')
  const access = join(folder, 'access.json')
  const tokens = [{ name: 'load', sha256: createHash('sha256').update(token).digest('hex') }]
  writeFileSync(access, JSON.stringify({ tokens, permissions: [{ callers: ['token:load'], infer: ['same'] }] }))
  return {
    tls: { folder, name: 'localhost', options: { ca: readFileSync(outer.cert, 'utf8'), token } },
    flags: ['--tls-cert', replica.cert, '--tls-key', replica.key, '--access', access],
  }
}

/** Sends requests with the token and without it. @throws {Error} if a status is wrong. */
export async function checkCallers({ url, options, grpcAddress }: Proxy): Promise<void> {
  const { ca, token } = options as { readonly ca: string; readonly token: string }
  const known = createClient(url, { ca, token })
  await known.metadata()
  const refused = await createClient(url, { ca })
    .metadata()
    .catch((error: unknown) => error)
  if (!(refused instanceof UnauthenticatedError)) throw new Error(`a request without a token got ${String(refused)}`)
  const codes = [await callStatus(grpcAddress, ca, token), await callStatus(grpcAddress, ca)]
  if (codes.join() !== '0,16')
    throw new Error(`calls with a token and without it must get 0 and 16, got ${codes.join()}`)
}

/** Asks for the metadata of the server over gRPC. @returns the code of the status. */
function callStatus(address: string, ca: string, token?: string): Promise<number> {
  const client = new Client(address, credentials.createSsl(Buffer.from(ca)))
  const metadata = new Metadata()
  if (token !== undefined) metadata.set('authorization', `Bearer ${token}`)
  const same = (bytes: Buffer): Buffer => bytes
  return new Promise((resolve) => {
    client.makeUnaryRequest(
      '/inference.GRPCInferenceService/ServerMetadata',
      same,
      same,
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
