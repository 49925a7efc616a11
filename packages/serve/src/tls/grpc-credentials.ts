import { ServerCredentials } from '@grpc/grpc-js'
import type { TlsFiles } from './tls-files.ts'

/** The credentials of a gRPC server whose files are read again when they change. */
export class GrpcCredentials extends ServerCredentials {
  constructor(files: TlsFiles) {
    const { requestCert, rejectUnauthorized, handshakeTimeout } = files.listenOptions
    super({ requestCert, rejectUnauthorized, handshakeTimeout }, files.context)
    files.onChange((context) => this.updateSecureContextOptions(context))
  }

  override _equals(other: ServerCredentials): boolean {
    return this === other
  }
}
