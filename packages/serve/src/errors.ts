import { defineKind, SimpleError } from '@tenon/core/errors'

/** A request cannot be understood, or contradicts its model. The status is 400. */
export class InvalidRequestError extends SimpleError {
  static override readonly kind: string = 'InvalidRequestError'
}
defineKind(InvalidRequestError)

/** The server has no such model or no such version of it. The status is 404. */
export class ModelNotFoundError extends SimpleError {
  static override readonly kind: string = 'ModelNotFoundError'
}
defineKind(ModelNotFoundError)

/** A model cannot answer now: it is not loaded, or the server is closing. The status is 503. */
export class ModelUnavailableError extends SimpleError {
  static override readonly kind: string = 'ModelUnavailableError'
}
defineKind(ModelUnavailableError)

/** A request has no credentials that the server accepts. The status is 401. */
export class UnauthenticatedError extends SimpleError {
  static override readonly kind: string = 'UnauthenticatedError'
}
defineKind(UnauthenticatedError)

/** The sender of a request may not do what the request asks for. The status is 403. */
export class PermissionDeniedError extends SimpleError {
  static override readonly kind: string = 'PermissionDeniedError'
}
defineKind(PermissionDeniedError)

/** A request has more bytes than the server accepts. The status is 413. */
export class RequestTooLargeError extends SimpleError {
  static override readonly kind: string = 'RequestTooLargeError'
}
defineKind(RequestTooLargeError)

/** A model of a repository cannot be loaded. The server answers for the others, unless it was told to need all. */
export class ModelLoadError extends SimpleError {
  static override readonly kind: string = 'ModelLoadError'
}
defineKind(ModelLoadError)

/**
 * A step of a pipeline failed, whose error is the `cause`. The status is that of the cause. `details` has the `pipeline`, the number of the `step`
 * and its `model` and `version`.
 */
export class PipelineStepError extends SimpleError {
  static override readonly kind: string = 'PipelineStepError'
}
defineKind(PipelineStepError)

/** The answer of a server contradicts the protocol. */
export class ProtocolError extends SimpleError {
  static override readonly kind: string = 'ProtocolError'
}
defineKind(ProtocolError)
