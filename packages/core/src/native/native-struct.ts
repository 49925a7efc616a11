import { highWord, lowWord } from '../memory/address-words.ts'
import { addressOf } from './native-memory.ts'

/** A struct of the C core in memory of its own, whose first word is its size. */
export class NativeStruct {
  readonly view: DataView
  readonly address: number

  constructor(byteSize: number) {
    const buffer = new ArrayBuffer(byteSize)
    this.view = new DataView(buffer)
    this.address = addressOf(buffer)
    this.setInt(0, byteSize)
  }

  setInt(at: number, value: number): void {
    this.view.setInt32(at, value, true)
  }

  getInt(at: number): number {
    return this.view.getInt32(at, true)
  }

  /** Writes a size, an index or an address below 2^53. */
  setSize(at: number, value: number): void {
    this.view.setInt32(at, lowWord(value), true)
    this.view.setInt32(at + 4, highWord(value), true)
  }

  getSize(at: number): number {
    return this.view.getUint32(at, true) + this.view.getUint32(at + 4, true) * 2 ** 32
  }
}
