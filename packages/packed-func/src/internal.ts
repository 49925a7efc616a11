/** What the `tenon` package uses besides the public entry. It may change at any time. */
export { functionSchema } from './typed/schema.ts'
export { schemaText, UNDECLARED, type TextOfKey, type Use } from './typed/schema-text.ts'
export { ANY, readTypeSchema, typeSchemaOf, type TypeSchema } from './typed/type-schema.ts'
