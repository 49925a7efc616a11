/**
 * The contracts of `@tenon/core` in small, with the alternatives that they were chosen over: nothing here is used elsewhere.
 * The classes of the packages themselves are measured by the packages' own bench files.
 */
import koffi from 'koffi'

/** The C library. */
export const libc = koffi.load(process.platform === 'win32' ? 'msvcrt.dll' : null)

export class Gate {
  declare alive: boolean
  declare holds: number

  constructor() {
    this.alive = true
    this.holds = 0
  }

  enter(): void {
    if (!this.alive) fail()
    this.holds++
  }

  exit(): void {
    this.holds--
  }
}

export class Block {
  declare readonly gate: Gate
  declare readonly view: DataView
  declare readonly bytes: Buffer
  declare readonly address: number

  constructor(gate: Gate, view: DataView, bytes: Buffer, address: number) {
    this.gate = gate
    this.view = view
    this.bytes = bytes
    this.address = address
  }
}

/** As it is: checked access through the block, and fields that are no class fields, so that it can be extended. */
export class Segment {
  declare readonly block: Block
  declare readonly base: number
  declare readonly byteSize: number
  declare readonly flags: number

  constructor(block: Block, base: number, byteSize: number, flags: number) {
    this.block = block
    this.base = base
    this.byteSize = byteSize
    this.flags = flags
  }

  getInt32(offset: number): number {
    const { block } = this
    if (!block.gate.alive || !(offset >= 0 && offset + 4 <= this.byteSize)) fail()
    return block.view.getInt32(this.base + offset, true)
  }

  setInt32(offset: number, value: number): void {
    const { block } = this
    if (!block.gate.alive || !(offset >= 0 && offset + 4 <= this.byteSize) || (this.flags & 1) !== 0) fail()
    block.view.setInt32(this.base + offset, value, true)
  }

  get address(): bigint {
    return BigInt(this.block.address) + BigInt(this.base)
  }

  get addressOfSum(): bigint {
    return BigInt(this.block.address + this.base)
  }
}

export class MemorySegment extends Segment {}

/** The same with class fields. */
class FieldSegment {
  readonly block: Block
  readonly base: number
  readonly byteSize: number
  readonly flags: number

  constructor(block: Block, base: number, byteSize: number, flags: number) {
    this.block = block
    this.base = base
    this.byteSize = byteSize
    this.flags = flags
  }
}

export class FieldMemorySegment extends FieldSegment {}

/** Gate and view copied into each segment: one step less to each. */
export class WideSegment {
  declare readonly gate: Gate
  declare readonly view: DataView
  declare readonly block: Block
  declare readonly base: number
  declare readonly byteSize: number
  declare readonly flags: number

  constructor(block: Block, base: number, byteSize: number, flags: number) {
    this.gate = block.gate
    this.view = block.view
    this.block = block
    this.base = base
    this.byteSize = byteSize
    this.flags = flags
  }

  getInt32(offset: number): number {
    if (!this.gate.alive || !(offset >= 0 && offset + 4 <= this.byteSize)) fail()
    return this.view.getInt32(this.base + offset, true)
  }
}

/** A DataView for each segment. */
export class OwnViewSegment {
  readonly gate: Gate
  readonly view: DataView

  constructor(block: Block, base: number, byteSize: number) {
    this.gate = block.gate
    this.view = new DataView(block.view.buffer, base, byteSize)
  }

  getInt32(offset: number): number {
    if (!this.gate.alive) fail()
    return this.view.getInt32(offset, true)
  }
}

/** An operand: a segment with what calls need. */
export class Operand {
  /** Keeps the memory. */
  readonly segment: Segment
  readonly gate: Gate
  readonly address: number
  /** The address as the bits of a float64. */
  readonly pointer: number

  constructor(segment: Segment) {
    this.segment = segment
    this.gate = segment.block.gate
    this.address = segment.block.address + segment.base
    scratch.setBigUint64(0, BigInt(this.address), true)
    this.pointer = scratch.getFloat64(0, true)
  }
}

const scratch = new DataView(new ArrayBuffer(8))

/** The operands of the calls in progress. */
export const callStack: { depth: number; readonly frames: (readonly { gate: Gate }[])[] } = { depth: 0, frames: [] }

export const NO_OPERANDS: readonly Operand[] = []

/** Bytes of a chunk: so many that its address is above 2^31 wherever Node is loaded, and no small integer. */
export const CHUNK = 2 ** 26

/** A block over a fresh chunk, alone with its gate. */
export function openBlock(): Block {
  const buffer = new ArrayBuffer(CHUNK)
  return new Block(new Gate(), new DataView(buffer), Buffer.from(buffer), Number(koffi.address(buffer)))
}

/** Four segments over four lifetimes, each holding a short string. */
export function fourSegments(): [Segment, Segment, Segment, Segment] {
  const open = (): Segment => {
    const block = openBlock()
    block.bytes.write('tenon', 64)
    return new Segment(block, 64, 64, 0)
  }
  return [open(), open(), open(), open()]
}

export function fail(): never {
  throw new RangeError('the probe never gets here')
}
