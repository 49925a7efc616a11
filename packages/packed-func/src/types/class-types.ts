import type { Callee } from '../functions/call.ts'
import type { PackedFunc } from '../functions/packed-func.ts'
import type { NativeObject, Wrapper } from '../objects/native-object.ts'
import type { Owner } from './member-function.ts'
import type { MemberCounts } from './type-table.ts'

/** The class of a registered type. */
export interface ObjectClass {
  /** Makes an object as the library defines it. @throws {PackedFuncTypeError} if the library registers no constructor. */
  new (...values: never[]): NativeObject
  readonly prototype: NativeObject
  /** The key of the type. */
  readonly typeKey: string
}

/** A field, as texts of objects show it. */
export interface ShownField {
  readonly name: string
  read(this: unknown): unknown
}

/** What this thread knows of a registered type: a snapshot, to which members are added when the type gets more. */
export interface ClassEntry extends Owner {
  readonly made: ObjectClass
  /** The entry of the parent, or undefined if the parent has a class of this package. */
  readonly parent: ClassEntry | undefined
  /** The class of this package from which the class descends: `NativeObject` for nearly all types. */
  readonly base: Wrapper
  readonly shown: ShownField[]
  /** Its own methods, by the names that the library registers. */
  readonly methods: Map<string, PackedFunc>
  counts: MemberCounts
  init: Initializer | undefined
}

/** A constructor of a library. */
export interface Initializer {
  readonly callee: Callee
  /** Whether it takes named values: one with a value for each field does, and one that the library wrote does not. */
  readonly takesNames: boolean
  /** The number of parameters in front of optional ones at the end. */
  readonly fewest: number
  /** The number of all parameters if there are optional ones at the end, for which None is passed, and 0 otherwise. */
  readonly padded: number
}
