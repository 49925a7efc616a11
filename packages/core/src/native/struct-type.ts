import { ArgumentError } from '../errors/kinds.ts'
import type { Segment } from '../memory/segment.ts'
import { type CStruct, declareStruct, readStruct, type StructMember, writeStruct } from './driver.ts'

/** A struct that is passed by value, as an object with the struct's members. */
export type StructValue = Readonly<Record<string, unknown>>

/** A C struct that is passed and returned by value. Make one per layout, because declaring a struct is slow. */
export class StructType {
  readonly byteSize: number
  readonly byteAlignment: number
  /** @internal */
  readonly cType: CStruct

  /** @throws {ArgumentError} if the members in C's layout do not have the size `byteSize`. */
  constructor(members: readonly StructMember[], byteSize: number) {
    const { type, size } = declareStruct(members)
    if (size !== byteSize) {
      throw new ArgumentError(
        `a struct passed by value must be laid out as C does, in ${size} bytes; its layout has ${byteSize}`,
      )
    }
    this.cType = type
    this.byteSize = byteSize
    this.byteAlignment = Math.max(1, ...members.map((member) => member.byteAlignment))
  }

  /** Reads the members of the struct from this memory, which must be alive. */
  read(segment: Segment): StructValue {
    const { block, base } = segment
    return readStruct(block.address + base, this.cType)
  }

  /** Writes the members to this memory, which must be alive. */
  write(segment: Segment, value: StructValue): void {
    const { block, base } = segment
    writeStruct(block.address + base, this.cType, value)
  }
}
