/** A line of a header. */
export interface Place {
  readonly file: string
  readonly line: number
}

/** A type as a header spells it. Typedefs keep their name; expressions stay text, which the compiler evaluates. */
export type CType =
  | { readonly kind: 'void' }
  /** A scalar type in its canonical spelling, such as `unsigned long` or `float _Complex`. */
  | { readonly kind: 'scalar'; readonly name: string }
  | { readonly kind: 'pointer'; readonly to: CType; readonly toConst: boolean }
  | { readonly kind: 'array'; readonly of: CType; readonly count: string | undefined }
  | FunctionCType
  | { readonly kind: 'record'; readonly record: RecordDeclaration }
  | { readonly kind: 'enum'; readonly enumeration: EnumDeclaration }
  | { readonly kind: 'typedef'; readonly name: string; readonly type: CType; readonly isConst: boolean }
  | { readonly kind: 'va_list' }
  /** A type that a module cannot express: a vector, `typeof`, or `_BitInt`. */
  | { readonly kind: 'unsupported'; readonly text: string }

export interface FunctionCType {
  readonly kind: 'function'
  readonly result: CType
  readonly parameters: readonly ParameterDeclaration[]
  readonly isVariadic: boolean
}

export interface ParameterDeclaration {
  readonly name: string | undefined
  /** Arrays and functions have become pointers, as C passes them. */
  readonly type: CType
}

export interface MemberDeclaration {
  /** Undefined for a struct or union whose members belong to the outer one, and for bit-fields that only fill space. */
  readonly name: string | undefined
  readonly type: CType
  readonly isConst: boolean
  /** The text of the width of a bit-field. */
  readonly bits: string | undefined
}

export interface RecordDeclaration {
  readonly keyword: 'struct' | 'union'
  readonly tag: string | undefined
  /** Undefined until the struct is defined: an opaque type. */
  members: readonly MemberDeclaration[] | undefined
  place: Place
  /** How C code names the type, such as `struct point` or `point_t`. */
  spelling: string | undefined
  /** Whether the headers define the tag twice, as C23 allows. */
  isDefinedTwice: boolean
}

export interface EnumDeclaration {
  readonly tag: string | undefined
  enumerators: readonly EnumeratorDeclaration[] | undefined
  place: Place
  spelling: string | undefined
}

export interface EnumeratorDeclaration {
  readonly name: string
  readonly place: Place
}

export interface FunctionDeclaration {
  readonly name: string
  readonly type: FunctionCType
  readonly place: Place
  /** The name that `__asm__("...")` gives the function in the library. */
  readonly symbol: string | undefined
  /** Whether the header has the function's body, and no library exports it. */
  readonly isInline: boolean
}

export interface VariableDeclaration {
  readonly name: string
  readonly type: CType
  readonly isConst: boolean
  readonly isThreadLocal: boolean
  readonly place: Place
}

export interface TypedefDeclaration {
  readonly name: string
  readonly type: CType
  readonly isConst: boolean
  readonly place: Place
}

/** An object-like or function-like macro. */
export interface MacroDefinition {
  readonly name: string
  /** The parameters of a function-like macro as text. */
  readonly parameters: string | undefined
  readonly body: string
  readonly place: Place
}

/** Resolves typedefs: the type that they name. */
export function withoutTypedefs(type: CType): CType {
  let resolved = type
  while (resolved.kind === 'typedef') resolved = resolved.type
  return resolved
}
