import type { Pool } from '@tenon/pools'
import { failed } from '@tenon/pools/internal'
import { operandByteSize } from '../model/operand-types.ts'
import { DeviceMemory, type PoolRange } from './device-memory.ts'
import type { Use } from './use.ts'
import { isAligned, type Place, placeIn, type PrivateMemory } from './memory.ts'
import type { Plan } from './plan.ts'

/** The places of the inputs and outputs of an execution, and the copies of those that kernels cannot use in place. */
export class Binding {
  readonly #plan: Plan
  readonly #copies: PrivateMemory
  readonly #places: (readonly [operand: number, place: Place])[] = []
  readonly #before: (() => void)[] = []
  readonly #after: (() => void)[] = []
  readonly #files: PoolRange[] = []

  /** @param copies memory for copies, which its owner releases. */
  constructor(plan: Plan, copies: PrivateMemory) {
    this.#plan = plan
    this.#copies = copies
  }

  /** Finds the place of an argument. @throws {PoolsError} `RESOURCE_EXHAUSTED_TRANSIENT` if there is no memory for a copy */
  add({ argument, pool, operand, operandIndex, isInput }: Use): void {
    if (pool === undefined) return
    const byteSize = operandByteSize(operand.type, this.#plan.dimensions[operandIndex]!)
    if (pool instanceof DeviceMemory) return this.#addBuffer(pool, operandIndex, byteSize, isInput)
    const { offset } = argument.location
    if (pool.kind === 'file') this.#files.push({ pool, byteOffset: offset, byteSize })
    let place = placeOf(pool, offset, byteSize)
    if (place === undefined || !isAligned(place, operand.type)) {
      const hint = 'Align values to the size of their elements, so that they are used in place.'
      const copy = (place = this.#copy(byteSize, hint))
      if (isInput) this.#before.push(() => pool.copyValueOut(offset, copy.bytes))
      else this.#after.push(() => pool.copyValueIn(offset, copy.bytes))
    }
    this.#places.push([operandIndex, place])
  }

  /** Sets the places, and copies inputs. */
  begin(): void {
    if (this.#plan.placedFor !== this.#places) {
      for (const [operand, place] of this.#places) this.#plan.setPlace(operand, place)
      this.#plan.placedFor = this.#places
    }
    for (const step of this.#before) step()
  }

  /** Copies outputs. @throws {PoolsError} if bytes of a file were lost */
  end(): void {
    for (const step of this.#after) step()
    for (const { pool, byteOffset, byteSize } of this.#files)
      if (pool.isMissing(byteOffset, byteSize))
        throw failed('P15', 'the file of a value became shorter, or has no room')
  }

  /** Finds the place of a device buffer. An output gets room only when the execution begins, because that ends its value. */
  #addBuffer({ storage }: DeviceMemory, operand: number, byteSize: number, isInput: boolean): void {
    const { placed } = storage
    if (placed === undefined) {
      if (isInput) this.#places.push([operand, storage.place(byteSize)!])
      else
        this.#before.push(() => {
          storage.resize(byteSize)
          this.#plan.setPlace(operand, storage.place(byteSize)!)
        })
      return
    }
    const isDirect = this.#plan.takesPlaced(operand)
    const place = isDirect ? { ...NO_BYTES, placed } : this.#copy(byteSize)
    this.#places.push([operand, place])
    if (!isInput) this.#before.push(() => storage.resize(byteSize))
    if (isDirect) return
    if (isInput) this.#before.push(() => storage.read(place.bytes))
    else this.#after.push(() => storage.write(place.bytes))
  }

  #copy(byteSize: number, hint?: string): Place {
    return this.#copies.allocate(byteSize, "the request's copies of values", hint)
  }
}

/** The bytes of a value that lies in memory of the driver's author. */
const NO_BYTES = { bytes: Buffer.alloc(0), address: 0 } as const

/** Returns the bytes of an argument's value in place; undefined if they have to be copied. */
function placeOf(pool: Pool, offset: number, byteSize: number): Place | undefined {
  const { place, kind } = pool
  return place === undefined || kind === 'device-image' ? undefined : placeIn(place, offset, byteSize)
}
