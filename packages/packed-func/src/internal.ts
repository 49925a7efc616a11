/** The functions and types that the `tenon` package uses besides the public entry. They may change at any time. */
export { cellOf } from './objects/native-object.ts'
export { functionSchema } from './typed/schema.ts'
export { schemaText, UNDECLARED, type TextOfKey, type Use } from './typed/schema-text.ts'
export { classNameOf, nameMembers, type Nameable, type NamedMember } from './types/member-names.ts'
export { ANY, readTypeSchema, typeSchemaOf, type TypeSchema } from './typed/type-schema.ts'
export { isolatedPackedFunc } from './remote/isolated-packed-func.ts'
export { beginPacked, packedTarget, type PackedTarget } from './remote/packed-run.ts'
export { type RemoteValue } from './remote/decode-values.ts'
