import { defineKind, TenonError, type TenonErrorOptions } from '@tenon/binary'

/** Memory, a library or another resource was used after the lifetime that owns it was closed. */
export class ScopeClosedError extends TenonError {
  static override readonly kind: string = 'ScopeClosedError'
  constructor(sentence: string, options?: TenonErrorOptions) {
    super('TENON_SCOPE_CLOSED', sentence, options)
  }
}
defineKind(ScopeClosedError)

/** A lifetime cannot be closed, because calls in progress or holds use it. It stays open, and nothing was released. */
export class ScopeHeldError extends TenonError {
  static override readonly kind: string = 'ScopeHeldError'
  constructor(sentence: string, options?: TenonErrorOptions) {
    super('TENON_SCOPE_HELD', sentence, options)
  }
}
defineKind(ScopeHeldError)

/** An object that is confined to one thread was used on another. */
export class WrongThreadError extends TenonError {
  static override readonly kind: string = 'WrongThreadError'
  constructor(sentence: string, options?: TenonErrorOptions) {
    super('TENON_WRONG_THREAD', sentence, options)
  }
}
defineKind(WrongThreadError)

/** An access exceeds its segment. Also a `RangeError`. */
export class BoundsError extends TenonError {
  static override readonly kind: string = 'BoundsError'
  constructor(sentence: string, options?: TenonErrorOptions) {
    super('TENON_BOUNDS', sentence, options)
  }
}
defineKind(BoundsError, [], RangeError)

/** An address is not a multiple of the alignment that an access or a kernel needs. */
export class AlignmentError extends TenonError {
  static override readonly kind: string = 'AlignmentError'
  constructor(sentence: string, options?: TenonErrorOptions) {
    super('TENON_ALIGNMENT', sentence, options)
  }
}
defineKind(AlignmentError)

/** Read-only memory cannot be written. Also a `TypeError`. */
export class ReadOnlyError extends TenonError {
  static override readonly kind: string = 'ReadOnlyError'
  constructor(sentence: string, options?: TenonErrorOptions) {
    super('TENON_READ_ONLY', sentence, options)
  }
}
defineKind(ReadOnlyError, [], TypeError)

/** Memory could not be allocated, because the system or a bounded allocator is exhausted. Also a `RangeError`. */
export class AllocationError extends TenonError {
  static override readonly kind: string = 'AllocationError'
  constructor(sentence: string, options?: TenonErrorOptions) {
    super('TENON_ALLOCATION', sentence, options)
  }
}
defineKind(AllocationError, [], RangeError)

/** A library or a symbol could not be loaded. `details.tried` lists each attempt with the loader's message. */
export class LoadError extends TenonError {
  static override readonly kind: string = 'LoadError'
  constructor(sentence: string, options?: TenonErrorOptions) {
    super('TENON_LOAD', sentence, options)
  }
}
defineKind(LoadError)

/** Native code reported a failure; `details.status` is the name of the native status. */
export class NativeError extends TenonError {
  static override readonly kind: string = 'NativeError'
  constructor(sentence: string, options?: TenonErrorOptions) {
    super('TENON_NATIVE', sentence, options)
  }
}
defineKind(NativeError)

/** An argument has the wrong type. Also a `TypeError`. */
export class ArgumentError extends TenonError {
  static override readonly kind: string = 'ArgumentError'
  constructor(sentence: string, options?: TenonErrorOptions) {
    super('TENON_ARGUMENT', sentence, options)
  }
}
defineKind(ArgumentError, [], TypeError)

/** An argument has the right type, but its value is out of range. An {@link ArgumentError} and a `RangeError`. */
export class ArgumentRangeError extends TenonError {
  static override readonly kind: string = 'ArgumentRangeError'
  constructor(sentence: string, options?: TenonErrorOptions) {
    super('TENON_ARGUMENT', sentence, options)
  }
}
defineKind(ArgumentRangeError, ['ArgumentError'], RangeError)
