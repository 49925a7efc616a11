import { defineKind } from '@tenon/core/internal'
import { XLA_CODES, xlaCodeName, type XlaCodeName } from './xla-codes.ts'
import { XlaError, type XlaFailure } from './xla-error.ts'

/** The class of the errors with one code. */
export interface XlaErrorClass {
  new (failure: XlaFailure): XlaError
  readonly kind: string
  readonly prototype: XlaError
}

const classes = new Map<XlaCodeName, XlaErrorClass>()

/** Makes the class of a code: `INVALID_ARGUMENT` gives `InvalidArgumentError`. */
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

/** `CANCELLED`: The call was given up, usually by who asked for it. */
export const CancelledError: XlaErrorClass = classFor('CANCELLED')
/** `UNKNOWN`: No code fits: also a C++ exception, and a code that has no name. */
export const UnknownError: XlaErrorClass = classFor('UNKNOWN')
/** `INVALID_ARGUMENT`: The handler does not take what it was given. */
export const InvalidArgumentError: XlaErrorClass = classFor('INVALID_ARGUMENT')
/** `DEADLINE_EXCEEDED`: It took too long. */
export const DeadlineExceededError: XlaErrorClass = classFor('DEADLINE_EXCEEDED')
/** `NOT_FOUND`: Something that was asked for does not exist: a registered handler, a state. */
export const NotFoundError: XlaErrorClass = classFor('NOT_FOUND')
/** `ALREADY_EXISTS`: Something that should be made exists already. */
export const AlreadyExistsError: XlaErrorClass = classFor('ALREADY_EXISTS')
/** `PERMISSION_DENIED`: It is not allowed. */
export const PermissionDeniedError: XlaErrorClass = classFor('PERMISSION_DENIED')
/** `RESOURCE_EXHAUSTED`: Memory or another resource has run out. */
export const ResourceExhaustedError: XlaErrorClass = classFor('RESOURCE_EXHAUSTED')
/** `FAILED_PRECONDITION`: It can not be done in this state. */
export const FailedPreconditionError: XlaErrorClass = classFor('FAILED_PRECONDITION')
/** `ABORTED`: It was broken off, and may succeed when it is tried again. */
export const AbortedError: XlaErrorClass = classFor('ABORTED')
/** `OUT_OF_RANGE`: A value lies outside its range. */
export const OutOfRangeError: XlaErrorClass = classFor('OUT_OF_RANGE')
/** `UNIMPLEMENTED`: The handler, or what it asked of the runtime, can not do that. */
export const UnimplementedError: XlaErrorClass = classFor('UNIMPLEMENTED')
/** `INTERNAL`: Something is broken inside the handler. */
export const InternalError: XlaErrorClass = classFor('INTERNAL')
/** `UNAVAILABLE`: Something is not there now, and may come back. */
export const UnavailableError: XlaErrorClass = classFor('UNAVAILABLE')
/** `DATA_LOSS`: Data was lost or damaged. */
export const DataLossError: XlaErrorClass = classFor('DATA_LOSS')
/** `UNAUTHENTICATED`: Nobody said who is asking. */
export const UnauthenticatedError: XlaErrorClass = classFor('UNAUTHENTICATED')

/** The error of a failure, of the class that its code has. */
export function xlaError(failure: XlaFailure): XlaError {
  return new (classes.get(xlaCodeName(failure.xlaCode)) ?? XlaError)(failure)
}

/** Every code with its class, in the order of the codes. */
export const xlaErrorClasses: ReadonlyMap<XlaCodeName, XlaErrorClass> = new Map(
  XLA_CODES.flatMap((name) => (name === 'OK' ? [] : [[name, classes.get(name)!] as const])),
)
