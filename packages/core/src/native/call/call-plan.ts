import type { ValueType } from '../value-type.ts'

/** The calling conventions of 64-bit systems. */
export type Abi = 'sysv-x64' | 'aapcs64' | 'apple-arm64' | 'win64'

/** A scalar of a struct, also of a nested struct or array, and its offset from the start of the outermost struct. */
export interface StructField {
  readonly offset: number
  readonly kind: ValueType
}

/** A struct that is passed by value, as its scalars in order of their offsets. */
export interface StructShape {
  readonly byteSize: number
  /** The alignment of the struct in bytes, with attributes of the struct itself. */
  readonly byteAlignment: number
  /** The largest alignment of a member, which is what AAPCS64 uses. */
  readonly naturalAlignment: number
  readonly fields: readonly StructField[]
}

export type PlanType = ValueType | StructShape

/** A signature with all parameters of one call, those of the `...` included. */
export interface PlanSignature {
  readonly result: PlanType | 'void'
  readonly parameters: readonly PlanType[]
  /** The number of parameters before the `...` of a variadic function. Undefined for all other functions. */
  readonly fixedParameters?: number | undefined
}

/** A part of a struct: `byteSize` bytes from `offset` of the struct are at the start of a word of the frame. */
export interface Piece {
  readonly word: number
  readonly offset: number
  readonly byteSize: number
}

/** An entry of the table of copies. The call copies the struct to the stack, and stores the copy's address in a word. */
export interface CopyPlan {
  /** The first word of the entry in the frame. */
  readonly entry: number
  /** The offset of the struct's bytes from the start of the frame. */
  readonly byteOffset: number
  /** The offset of the copy on the stack. */
  readonly place: number
}

/** The place of one argument in the frame. Words have 32 bits and count from the frame's start. */
export interface ParameterPlan {
  /** `struct`: the bytes are in the pieces. `indirect`: the word has the address of a copy of the struct. */
  readonly kind: ValueType | 'struct' | 'indirect'
  /** The word of a scalar, or of an address. The first word of a struct. */
  readonly word: number
  /** The offset of the argument from the frame's start in bytes. Only Apple's stack has arguments inside of a word. */
  readonly byteOffset: number
  /** A scalar: the bytes it has in the frame, 8 unless it has its natural size on Apple's stack. A struct: its size. */
  readonly byteSize: number
  /** A second word that must have the same value, or -1. Win64 passes variadic floats in both kinds of registers. */
  readonly second: number
  readonly pieces: readonly Piece[]
  /** `indirect`: the copy of the struct. */
  readonly copy: CopyPlan | null
}

/** The place of the result in the frame. */
export interface ResultPlan {
  /** `struct`: the bytes are in the pieces. `memory`: the caller passes the address of the result. */
  readonly kind: ValueType | 'struct' | 'memory' | 'void'
  /** The word of a scalar, or of the address of the result. -1 otherwise. */
  readonly word: number
  readonly byteSize: number
  readonly pieces: readonly Piece[]
}

/** Where a call's arguments and result are in the frame. The same plan serves a call and an upcall. */
export interface CallPlan {
  readonly abi: Abi
  readonly parameters: readonly ParameterPlan[]
  readonly result: ResultPlan
  /** The flags of the frame that follow from the signature: VECTORS and COPIES. */
  readonly flags: number
  /** The size of the stack area in bytes, a multiple of 16. */
  readonly stackSize: number
  /** The number of vector registers with arguments, which SysV passes in AL. 0 for the other conventions. */
  readonly vectorCount: number
  /** The number of structs in the table of copies. */
  readonly copyCount: number
  /** The bytes of all copies on the stack. */
  readonly copySize: number
}

/** What a calling convention decides. */
export interface Placement {
  readonly parameters: readonly ParameterPlan[]
  readonly result: ResultPlan
  readonly stackSize: number
  /** The number of vector registers that are loaded. */
  readonly vectors: number
}
