import type { NativeLibrary } from '@tenon/core'
import { codeBlock, type Gate } from '@tenon/core/internal'
import { MemorySegment } from '../segment/memory-segment.ts'

/** Native code as a segment: an address with a lifetime, without memory to read. */
export class SymbolSegment extends MemorySegment {
  /** The name of the code in messages. */
  readonly name: string
  /** The library that exports the symbol; undefined for a callback. */
  readonly library: NativeLibrary | undefined

  constructor(gate: Gate, address: number, name: string, library?: NativeLibrary) {
    super(codeBlock(gate, address), 0, 0, 0)
    this.name = name
    this.library = library
  }

  override toString(): string {
    return `${this.name}, a ${super.toString()}`
  }
}
