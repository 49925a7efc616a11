import { defineKind, SimpleError, TenonError, type TenonErrorOptions } from '@tenon/binary/internal'
import { unnamedVariables } from './library-variables.ts'

/** Memory, a library or another resource was used after the lifetime that owns it was closed. */
export class ScopeClosedError extends SimpleError {
  static override readonly kind: string = 'ScopeClosedError'
}
defineKind(ScopeClosedError)

/** A lifetime cannot be closed, because calls in progress or holds use it. The lifetime stays open, and nothing was freed. */
export class ScopeHeldError extends SimpleError {
  static override readonly kind: string = 'ScopeHeldError'
}
defineKind(ScopeHeldError)

/** An object that is confined to one thread was used on another. */
export class WrongThreadError extends SimpleError {
  static override readonly kind: string = 'WrongThreadError'
}
defineKind(WrongThreadError)

/** An access exceeds its segment. Also a `RangeError`. */
export class BoundsError extends SimpleError {
  static override readonly kind: string = 'BoundsError'
}
defineKind(BoundsError, [], RangeError)

/** An address is not a multiple of the alignment that an access or a kernel needs. */
export class AlignmentError extends SimpleError {
  static override readonly kind: string = 'AlignmentError'
}
defineKind(AlignmentError)

/** Read-only memory cannot be written. Also a `TypeError`. */
export class ReadOnlyError extends SimpleError {
  static override readonly kind: string = 'ReadOnlyError'
}
defineKind(ReadOnlyError, [], TypeError)

/** Memory could not be allocated, because the system or a bounded allocator is exhausted. Also a `RangeError`. */
export class AllocationError extends SimpleError {
  static override readonly kind: string = 'AllocationError'
}
defineKind(AllocationError, [], RangeError)

/**
 * A library or a symbol could not be loaded. `details.tried` lists each attempt with the loader's message. The hint names the variables
 * of the environment that replace Tenon's own libraries in this process.
 */
export class LoadError extends SimpleError {
  static override readonly kind: string = 'LoadError'
  constructor(sentence: string, options: TenonErrorOptions = {}) {
    const { hint } = options
    const named = [...(hint === undefined ? [] : [hint]), ...unnamedVariables(`${sentence} ${hint ?? ''}`)]
    super(sentence, named.length === 0 ? options : { ...options, hint: named.join(' ') })
  }
}
defineKind(LoadError)

/** Native code reported a failure; `details.status` is the name of the native status. */
export class NativeError extends SimpleError {
  static override readonly kind: string = 'NativeError'
}
defineKind(NativeError)

/** A feature is not there: on this system, or in a library of another origin. */
export class UnsupportedError extends SimpleError {
  static override readonly kind: string = 'UnsupportedError'
}
defineKind(UnsupportedError)

/**
 * Native code wrote outside of the memory that it was given. Thrown only with `TENON_DEBUG=guard`. `details` has the `name` of
 * the memory, the `count` of the bytes, and the `offset` of the first from the start of the memory.
 */
export class GuardError extends SimpleError {
  static override readonly kind: string = 'GuardError'
}
defineKind(GuardError)

/** An argument has the wrong type. Also a `TypeError`. */
export class ArgumentError extends SimpleError {
  static override readonly kind: string = 'ArgumentError'
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

/** A queue has no place for another call. Nothing was called, so the call can be made again later. */
export class QueueFullError extends SimpleError {
  static override readonly kind: string = 'QueueFullError'
}
defineKind(QueueFullError)

/**
 * The base class of what can happen to a call in another process: the kernel crashed, missed its deadline or exceeded its
 * memory, or its worker was lost. `details` has the `kernel`, the `worker` and the `output` of the kernel.
 */
export abstract class IsolationError extends SimpleError {
  static override readonly kind: string = 'IsolationError'
}
defineKind(IsolationError)

/**
 * A call did not finish within its deadline. `details` has the `deadline` and the time `elapsed` in milliseconds, and the `stage`:
 * `queued` if the call had not begun, `cancelled` if the kernel returned once it was asked to, and `killed` if the worker was ended.
 */
export class KernelDeadlineError extends IsolationError {
  static override readonly kind: string = 'KernelDeadlineError'
}
defineKind(KernelDeadlineError, ['IsolationError'])
