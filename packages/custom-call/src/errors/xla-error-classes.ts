import { ABSL_CODES, abslCodeName, defineKind } from '@tenon/core/internal'
import { XlaError, type XlaCodeName, type XlaFailure } from './xla-error.ts'

/** The class of the errors with one code. */
export interface XlaErrorClass {
  new (failure: XlaFailure): XlaError
  readonly kind: string
  readonly prototype: XlaError
}

const classes = new Map<XlaCodeName, XlaErrorClass>()
/** Maps the name of every code to its class, in the order of the codes. */
export const xlaErrorClasses: ReadonlyMap<XlaCodeName, XlaErrorClass> = classes

function classFor(codeName: XlaCodeName): XlaErrorClass {
  const words = codeName.split('_').map((word) => word[0] + word.slice(1).toLowerCase())
  const name = `${words.join('')}Error`
  const kind = `Xla${name}`
  const made = class extends XlaError {
    static override readonly kind: string = kind
  }
  Object.defineProperty(made, 'name', { value: name })
  defineKind(made, ['XlaError'])
  classes.set(codeName, made)
  return made
}

/** `CANCELLED`: The call was cancelled, usually by its caller. */
export const CancelledError: XlaErrorClass = classFor('CANCELLED')
/** `UNKNOWN`: No other code fits. C++ exceptions and unknown codes also become errors of this class. */
export const UnknownError: XlaErrorClass = classFor('UNKNOWN')
/** `INVALID_ARGUMENT`: The handler does not accept its operands, results or attributes. */
export const InvalidArgumentError: XlaErrorClass = classFor('INVALID_ARGUMENT')
/** `DEADLINE_EXCEEDED`: The call took too long. */
export const DeadlineExceededError: XlaErrorClass = classFor('DEADLINE_EXCEEDED')
/** `NOT_FOUND`: A registered handler, a state or user data does not exist. */
export const NotFoundError: XlaErrorClass = classFor('NOT_FOUND')
/** `ALREADY_EXISTS`: The name or object to be created already exists. */
export const AlreadyExistsError: XlaErrorClass = classFor('ALREADY_EXISTS')
/** `PERMISSION_DENIED`: The operation is not permitted. */
export const PermissionDeniedError: XlaErrorClass = classFor('PERMISSION_DENIED')
/** `RESOURCE_EXHAUSTED`: Memory or another resource has run out. */
export const ResourceExhaustedError: XlaErrorClass = classFor('RESOURCE_EXHAUSTED')
/** `FAILED_PRECONDITION`: The operation is not possible in the current state. */
export const FailedPreconditionError: XlaErrorClass = classFor('FAILED_PRECONDITION')
/** `ABORTED`: The operation was aborted, and may succeed if you retry it. */
export const AbortedError: XlaErrorClass = classFor('ABORTED')
/** `OUT_OF_RANGE`: A value is out of range. */
export const OutOfRangeError: XlaErrorClass = classFor('OUT_OF_RANGE')
/** `UNIMPLEMENTED`: The handler, or a runtime function that the handler called, is not implemented. */
export const UnimplementedError: XlaErrorClass = classFor('UNIMPLEMENTED')
/** `INTERNAL`: An invariant of the handler is broken. */
export const InternalError: XlaErrorClass = classFor('INTERNAL')
/** `UNAVAILABLE`: A resource is not available at the moment. */
export const UnavailableError: XlaErrorClass = classFor('UNAVAILABLE')
/** `DATA_LOSS`: Data was lost or damaged. */
export const DataLossError: XlaErrorClass = classFor('DATA_LOSS')
/** `UNAUTHENTICATED`: The caller has no valid credentials. */
export const UnauthenticatedError: XlaErrorClass = classFor('UNAUTHENTICATED')

export function xlaError(failure: XlaFailure): XlaError {
  return new (classes.get(abslCodeName(failure.xlaCode)) ?? XlaError)(failure)
}

/** Makes the error of a call that is refused before native code sees it, in the class of its code. */
export function refused(
  codeName: XlaCodeName,
  target: string,
  text: string,
  options?: Pick<XlaFailure, 'cause' | 'hint'>,
): XlaError {
  return xlaError({ xlaCode: ABSL_CODES.indexOf(codeName), text, target, stage: 'execute', refused: true, ...options })
}
