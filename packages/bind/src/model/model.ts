import type { Place } from '../read/c-types.ts'
import type { BoundHandle, CallPlan, StatusPlan } from './call-plan.ts'
import type { Constant } from './constant.ts'

/** The types of scalars in calls and in memory. */
export type ScalarKind =
  | 'bool'
  | 'int8'
  | 'uint8'
  | 'int16'
  | 'uint16'
  | 'int32'
  | 'uint32'
  | 'int64'
  | 'uint64'
  | 'float32'
  | 'float64'

/** The kind of a scalar by its size in bytes. */
export function scalarKind(byteSize: number, isSigned: boolean, isReal: boolean): ScalarKind {
  const bits = byteSize * 8
  if (isReal) return bits === 32 ? 'float32' : 'float64'
  return `${isSigned ? 'int' : 'uint'}${bits as 8 | 16 | 32 | 64}`
}

/** A type of the headers for one platform: the compiler has answered its sizes. */
export type Type =
  | { readonly kind: 'void' }
  /** `c` is the canonical spelling, such as `unsigned long`, and `typedef` the name that the header uses for it, such as `uint64_t`. */
  | { readonly kind: 'scalar'; readonly as: ScalarKind; readonly c: string; readonly typedef?: string }
  /** `id` is undefined for an enumeration without a name, whose constants are bound alone. */
  | { readonly kind: 'enum'; readonly as: ScalarKind; readonly id: string | undefined }
  | { readonly kind: 'pointer'; readonly to: Type; readonly isConst: boolean }
  /** `count` is undefined for an array of any length. */
  | { readonly kind: 'array'; readonly of: Type; readonly count: number | undefined }
  | { readonly kind: 'record'; readonly id: string }
  | FunctionType
  | { readonly kind: 'va_list' }
  /** A type that TypeScript cannot pass or read by value, such as `long double`. */
  | { readonly kind: 'unsupported'; readonly c: string }

/** The type of a function, or of what a function pointer points to. */
export interface FunctionType {
  readonly kind: 'function'
  readonly result: Type
  readonly parameters: readonly Parameter[]
  readonly isVariadic: boolean
}

/** A parameter of a function. Arrays and functions have become pointers, as C passes them. */
export interface Parameter {
  readonly name: string | undefined
  readonly type: Type
}

/** A function that the module calls in the library. */
export interface BoundFunction {
  readonly name: string
  /** The name in the library, where it is another one. */
  readonly symbol?: string
  /** The name in the headers, where the module has another one. */
  readonly declared?: string
  readonly type: FunctionType
  readonly place: Place
  /** How the module calls it, if it has annotations. */
  readonly call?: CallPlan
}

/** A member of a struct or union. Members of structs without a name are members of the outer one. */
export type Member =
  | {
      readonly kind: 'field'
      readonly name: string
      readonly type: Type
      readonly isConst: boolean
      readonly byteOffset: number
      readonly place?: Place
      /** How the module calls a function pointer that has annotations. */
      readonly call?: CallPlan
    }
  | {
      readonly kind: 'bits'
      readonly name: string
      readonly as: ScalarKind
      readonly isConst: boolean
      readonly bitOffset: number
      readonly bitWidth: number
    }

/** A struct or union. */
export interface BoundRecord {
  /** The name in the module: the typedef, the tag, or the path of members that leads to it. */
  readonly id: string
  /** How C names the type. */
  readonly c: string
  readonly kind: 'struct' | 'union'
  /** Undefined for an opaque type, of which there are only pointers. */
  readonly layout: RecordLayout | undefined
  readonly place: Place
  /** The annotations of a struct of function pointers. */
  readonly table?: { readonly status?: StatusPlan; readonly isVolatile: boolean }
}

/** The layout of a struct or union on the platform of the model: sizes and offsets in bytes, those of bit-fields in bits. */
export interface RecordLayout {
  readonly byteSize: number
  readonly byteAlignment: number
  readonly members: readonly Member[]
  /** The structs and unions without a name whose members are among those of the outer one, each before those inside of it. */
  readonly groups: readonly MemberGroup[]
}

/** A struct or union without a name: `count` members of the outer one, from the index `first` on. */
export interface MemberGroup {
  readonly kind: 'struct' | 'union'
  readonly first: number
  readonly count: number
}

/** An enumeration with a name. */
export interface BoundEnum {
  readonly id: string
  readonly as: ScalarKind
  /** Its constants, in order. */
  readonly names: readonly string[]
  readonly place: Place
}

/** A macro or an enumerator with its value. */
export interface BoundConstant {
  readonly name: string
  readonly constant: Constant
  readonly isMacro: boolean
  /** The enumeration of which this is a value, if it has a name. */
  readonly enumeration?: string
  readonly place: Place
}

/** A variable of the library. */
export interface BoundVariable {
  readonly name: string
  /** The name in the library, where the module has another one. */
  readonly symbol?: string
  readonly type: Type
  readonly isConst: boolean
  readonly byteSize: number
  readonly place: Place
}

/** A declaration that is not in the module, with its reason. */
export interface Refusal {
  readonly name: string
  readonly reason: RefusalReason
  /** The rest of the sentence, such as the type or the library. */
  readonly detail: string
  readonly place: Place
}

/** Why a declaration is not in a module. */
export type RefusalReason =
  | 'not exported'
  | 'inline function'
  | 'type cannot be passed'
  | 'thread-local'
  | 'two definitions'
  | 'function-like macro'
  | 'known at run time only'
  | 'not an expression'
  | 'reserved name'
  | 'depends on the compiler'
  | 'too large'
  | 'name is used twice'
  | 'not in the shim'

/** Everything that a module can express of a set of headers, and the reasons for the rest, in the order of the headers. */
export interface Model {
  /** The version of this form. */
  readonly tenon: 1
  /** The platform whose compiler answered, such as `linux-x64`. */
  readonly target: string
  readonly headers: readonly string[]
  readonly functions: readonly BoundFunction[]
  readonly records: readonly BoundRecord[]
  readonly enums: readonly BoundEnum[]
  readonly constants: readonly BoundConstant[]
  readonly variables: readonly BoundVariable[]
  readonly refused: readonly Refusal[]
  /** The classes of handles that the annotations name. */
  readonly handles?: readonly BoundHandle[]
  /** The statuses that functions with annotations return. */
  readonly status?: StatusPlan
  /** The library with the functions that the libraries do not export. */
  readonly shim?: Shim
}

/** A compiled library beside a module, which has the same hash as the module. */
export interface Shim {
  readonly hash: string
  readonly bytes: Uint8Array
}
