import type { ServerUnaryCall, ServerDuplexStream } from '@grpc/grpc-js'
import type { FailedRequest, ServerState } from '../service/server-state.ts'

type Call = ServerUnaryCall<Buffer, Buffer> | ServerDuplexStream<Buffer, Buffer>

/** Logs the error of a call. */
export function logFailure(
  { logError }: Pick<ServerState, 'logError'>,
  error: unknown,
  call: Pick<Call, 'getPeer' | 'metadata'>,
  { path, status, id }: Pick<FailedRequest, 'path' | 'status' | 'id'>,
): void {
  const [header] = call.metadata.get('x-request-id')
  logError(error, { method: 'gRPC', path, status, address: call.getPeer(), id: header?.toString() ?? id })
}
