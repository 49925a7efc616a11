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

export const CancelledError: XlaErrorClass = classFor('CANCELLED')
/** Also of C++ exceptions, and of codes that have no name. */
export const UnknownError: XlaErrorClass = classFor('UNKNOWN')
export const InvalidArgumentError: XlaErrorClass = classFor('INVALID_ARGUMENT')
export const DeadlineExceededError: XlaErrorClass = classFor('DEADLINE_EXCEEDED')
export const NotFoundError: XlaErrorClass = classFor('NOT_FOUND')
export const AlreadyExistsError: XlaErrorClass = classFor('ALREADY_EXISTS')
export const PermissionDeniedError: XlaErrorClass = classFor('PERMISSION_DENIED')
export const ResourceExhaustedError: XlaErrorClass = classFor('RESOURCE_EXHAUSTED')
export const FailedPreconditionError: XlaErrorClass = classFor('FAILED_PRECONDITION')
export const AbortedError: XlaErrorClass = classFor('ABORTED')
export const OutOfRangeError: XlaErrorClass = classFor('OUT_OF_RANGE')
export const UnimplementedError: XlaErrorClass = classFor('UNIMPLEMENTED')
export const InternalError: XlaErrorClass = classFor('INTERNAL')
export const UnavailableError: XlaErrorClass = classFor('UNAVAILABLE')
export const DataLossError: XlaErrorClass = classFor('DATA_LOSS')
export const UnauthenticatedError: XlaErrorClass = classFor('UNAUTHENTICATED')

/** The error of a failure, of the class that its code has. */
export function xlaError(failure: XlaFailure): XlaError {
  return new (classes.get(xlaCodeName(failure.xlaCode)) ?? XlaError)(failure)
}

/** Every code with its class, in the order of the codes. */
export const xlaErrorClasses: ReadonlyMap<XlaCodeName, XlaErrorClass> = new Map(
  XLA_CODES.flatMap((name) => (name === 'OK' ? [] : [[name, classes.get(name)!] as const])),
)
