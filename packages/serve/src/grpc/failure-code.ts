import { status } from '@grpc/grpc-js'
import type { Failure, FailureKind } from '../service/describe-failure.ts'

const CODE_OF: Readonly<Record<FailureKind, status>> = {
  invalid: status.INVALID_ARGUMENT,
  unauthenticated: status.UNAUTHENTICATED,
  denied: status.PERMISSION_DENIED,
  exists: status.ALREADY_EXISTS,
  unsupported: status.UNIMPLEMENTED,
  'not-found': status.NOT_FOUND,
  'too-large': status.RESOURCE_EXHAUSTED,
  unavailable: status.UNAVAILABLE,
  deadline: status.DEADLINE_EXCEEDED,
  failed: status.INTERNAL,
}

/** A failure as gRPC passes it on. */
export const statusOf = ({ kind, message }: Failure): { readonly code: status; readonly details: string } => ({
  code: CODE_OF[kind],
  details: message,
})
