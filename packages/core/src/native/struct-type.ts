import { ArgumentError } from '../errors/kinds.ts'
import type { Segment } from '../memory/segment.ts'
import { type CStruct, declareStruct, readStruct, type StructMember, writeStruct } from './driver.ts'

/** A struct as the driver passes it by value: an object of its members. */
export type StructValue = Readonly<Record<string, unknown>>

/** A C struct that is passed and returned by value. Made once for a layout: declaring it is slow. */
export class StructType {
  readonly byteSize: number
  readonly byteAlignment: number
  /** @internal */
  readonly cType: CStruct

  /** @throws {ArgumentError} if C lays the members out in another way than `byteSize` says. */
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

  /** The members of the struct in this memory, which must be alive. */
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
