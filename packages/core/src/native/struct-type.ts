import type { StructField, StructShape } from './call/call-plan.ts'

/** A C struct that is passed and returned by value, as its bytes. */
export class StructType implements StructShape {
  readonly byteSize: number
  readonly byteAlignment: number
  readonly naturalAlignment: number
  readonly fields: readonly StructField[]

  constructor({ byteSize, byteAlignment, naturalAlignment, fields }: StructShape) {
    this.byteSize = byteSize
    this.byteAlignment = byteAlignment
    this.naturalAlignment = naturalAlignment
    this.fields = fields
  }
}
