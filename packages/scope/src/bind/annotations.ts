import type { FunctionSignature } from '../linker/signature.ts'
import type { MemorySegment } from '../segment/memory-segment.ts'
import type { HandleClass } from './handle.ts'
import type { BindType } from './bind-signature.ts'
import type { Struct } from './struct.ts'

/** A handle that a call makes of a pointer. */
export interface HandleForm {
  readonly class: HandleClass
  readonly close: (pointer: MemorySegment) => unknown
  /** The parameter of C that is the object within which the new one lives. */
  readonly within?: number
  /** Whether C gives an object that must be closed also when the call fails. */
  readonly evenOnError?: boolean
  /** Whether the garbage collector closes a handle that was forgotten. */
  readonly finalize?: boolean
}

/** The class of a struct, as the calls of a module need it. */
export interface StructClass {
  at(segment: MemorySegment): Struct
  readonly byteSize: number
  readonly byteAlignment: number
}

/** How a value of C becomes a value of the caller. Without a form, it stays as it is. */
export interface ValueForm {
  /** A copy of the text at the pointer. */
  readonly text?: boolean
  /** Frees the memory of a text after it has been copied. */
  readonly free?: (pointer: MemorySegment) => unknown
  /** A 64-bit integer as a number. */
  readonly number?: boolean
  /** A null pointer as null. */
  readonly nullable?: boolean
  /** A null pointer as an error. */
  readonly nonnull?: boolean
  readonly handle?: HandleForm
  /** The class of a struct that is returned by value. */
  readonly struct?: StructClass
  /** The size of an element of the memory at the pointer, whose length is another result. */
  readonly elementSize?: number
}

/**
 * A parameter of C that the caller does not pass as it is.
 *
 * | `is`           | the argument for C                                                                       | the caller passes  |
 * | -------------- | ---------------------------------------------------------------------------------------- | ------------------ |
 * | `out`          | memory for one value, or for as many as the array `of` has; the value is a result         | nothing            |
 * | `struct`       | a struct in memory from the allocator, which is a result                                  | nothing            |
 * | `inout`        | memory with a value, which is a result again                                              | the value          |
 * | `omit`         | null or 0                                                                                 | nothing            |
 * | `constant`     | the same value in every call                                                              | nothing            |
 * | `length`       | the number of elements of the argument `of`                                               | nothing            |
 * | `resultLength` | memory for the length of the pointer that C returns                                       | nothing            |
 * | `texts`        | an array of C strings, copied for the call                                                | an array of texts  |
 * | `pointers`     | an array of pointers, copied for the call                                                 | an array of memory |
 * | `callback`     | a function pointer that ends with the call                                                | a function         |
 * | `nonnull`      | the argument, which must not be null                                                      | the argument       |
 * | `retained`     | the memory, which C keeps, so it is not copied; with `of`, unless that argument is null   | a segment          |
 * | `taken`        | the pointer of a handle, which ends                                                       | a handle           |
 * | `takenAddress` | the address of that pointer                                                               | a handle           |
 */
export interface AnnotatedParameter {
  readonly is:
    | 'out'
    | 'struct'
    | 'inout'
    | 'omit'
    | 'constant'
    | 'length'
    | 'resultLength'
    | 'texts'
    | 'pointers'
    | 'callback'
    | 'nonnull'
    | 'retained'
    | 'taken'
    | 'takenAddress'
  /** The type of the parameter, or of the value in memory that C writes. */
  readonly type: BindType
  /** The name of the parameter, which is that of a result where there are several. */
  readonly name: string
  /** The index of the parameter whose elements are counted. */
  readonly of?: number
  readonly elementSize?: number
  readonly value?: ValueForm
  readonly constant?: unknown
  readonly struct?: StructClass
  readonly signature?: () => FunctionSignature
}

/** The statuses that are success, and the functions that explain the others. Without `success` and `atLeast`, a null pointer is success. */
export interface StatusForm {
  readonly success?: readonly number[]
  /** The lowest status that is success. */
  readonly atLeast?: number
  /** The library's text about the last failure, or about the failure of an object. */
  readonly message?: (subject: MemorySegment) => string | null
  /** The library's text about a status. */
  readonly otherwise?: (status: never) => string | null
  /** The number of a status that is an object. */
  readonly code?: (status: MemorySegment) => number | bigint
  /** Frees a status that is an object. */
  readonly release?: (status: MemorySegment) => unknown
}

/** A function of a module whose annotations change how it is called. */
export interface AnnotatedSignature {
  readonly annotated: true
  readonly result?: BindType | 'void'
  readonly returns?: ValueForm
  /** Whether the caller does not get the value that C returns. */
  readonly omitsValue?: boolean
  readonly parameters?: readonly (BindType | AnnotatedParameter)[]
  /** The names of the parameters, as messages have them. */
  readonly names?: readonly string[]
  readonly isVariadic?: boolean
  readonly errno?: boolean
  readonly critical?: boolean
  readonly status?: StatusForm
  /** The statuses of success without results. */
  readonly none?: readonly number[]
  /** The parameter of C that `status.message` explains. */
  readonly subject?: number
  /** The class of the object within which that one lives, if the library explains the failures of that. */
  readonly subjectParent?: HandleClass
}
