import { getSystemErrorName } from 'node:util'
import type { NativeFunction } from '@tenon/core'
import {
  bindFunction,
  Cleaner,
  CONSTANTS,
  copiedBuffer,
  coreFunctions,
  LAYOUTS,
  ManagedLifetime,
} from '@tenon/core/internal'
import type { ArrowBatch } from './arrow-batch.ts'
import { ArrowError } from './errors/arrow-error.ts'
import { canBeMemory, readWords } from './import/native-words.ts'
import { createStruct, KIND, releaseStruct, type Owned } from './import/owned.ts'
import { sweepPassed } from './import/passed-batches.ts'
import { batchOf, readOwned } from './import-batch.ts'
import type { ArrowSchema } from './schema/arrow-schema.ts'

type Call = NativeFunction<readonly bigint[], number>

/** The functions of the struct, in its order. */
interface StreamCalls {
  readonly getSchema: Call
  readonly getNext: Call
  readonly getLastError: NativeFunction<readonly bigint[], bigint>
}

const collected = new Cleaner<number>(releaseStruct)

const { release: RELEASE } = LAYOUTS.tn_arrow_array_t.offsets

/**
 * A stream of batches that another library makes, one after the other. {@link importStream} makes one. A loop closes each batch when it
 * goes on to the next one, and the stream at its end, also if it is left early; {@link ArrowBatch.keep} keeps a batch. A batch that calls, holds
 * or consumers of exports still use then is closed after them.
 *
 * @example
 * for (const batch of importStream(pointer)) total += sum(batch.column('x').tensor())
 */
export class ArrowStream extends ManagedLifetime {
  /** The columns of all batches. */
  readonly schema: ArrowSchema
  readonly #owned: Owned
  readonly #isWritable: boolean
  readonly #calls: StreamCalls
  /** The error that has ended the stream, or true at its end. */
  #end: ArrowError | boolean = false
  #isReading = false

  /** @internal Takes the struct over, also if this fails. */
  constructor(owned: Owned, isWritable: boolean) {
    super()
    this.#owned = owned
    this.#isWritable = isWritable
    try {
      this.#calls = this.#bind(owned.address)
      this.schema = this.#readSchema()
    } catch (error) {
      this.gate.open = this.gate.alive = false
      releaseStruct(owned.handle)
      throw error
    }
    collected.watch(this, owned.handle, this)
  }

  protected override get label(): string {
    return 'the Arrow stream'
  }

  protected override release(): void {
    collected.forget(this)
    releaseStruct(this.#owned.handle)
  }

  #bind(address: number): StreamCalls {
    const addresses = readWords(address, 3)
    const bind = (index: number, name: string, result: 'int32' | 'uint64', count: number): unknown => {
      if (!canBeMemory(addresses[index]!, 1))
        throw new ArrowError(`the stream must have the function ${name}, got the address ${addresses[index]}`)
      const parameters = Array.from({ length: count }, () => 'uint64' as const)
      return bindFunction(this.gate, `${name} of an Arrow stream`, addresses[index]!, { result, parameters })
    }
    return {
      getSchema: bind(0, 'get_schema', 'int32', 2) as Call,
      getNext: bind(1, 'get_next', 'int32', 2) as Call,
      getLastError: bind(2, 'get_last_error', 'uint64', 1) as StreamCalls['getLastError'],
    }
  }

  #readSchema(): ArrowSchema {
    const made = createStruct(KIND.schema)
    let status: number
    try {
      status = this.#calls.getSchema(BigInt(this.#owned.address), BigInt(made.address))
      if (status !== 0) throw this.#failure(status)
    } catch (error) {
      releaseStruct(made.handle)
      throw error
    }
    return readOwned(made)
  }

  /** The error of a call that returned a number other than 0. */
  #failure(status: number): ArrowError {
    const at = Number(this.#calls.getLastError(BigInt(this.#owned.address)))
    const size = at === 0 ? 0 : Number(coreFunctions().tn_text_length(at, CONSTANTS.TN_ARROW_LONGEST_ERROR))
    const text = Buffer.from(copiedBuffer(at, size)).toString()
    return new ArrowError(`the stream failed with ${errnoName(status)}${text === '' ? '' : `: ${text}`}`, {
      details: { errno: status },
    })
  }

  #begin(): Owned | undefined {
    this.checkOpen()
    if (this.#isReading)
      throw new ArrowError('the stream is being read', { hint: 'Await the read before the next one.' })
    if (this.#end === true) return undefined
    if (this.#end !== false) throw this.#end
    sweepPassed()
    return createStruct(KIND.array)
  }

  #finish(made: Owned, status: number): ArrowBatch | undefined {
    if (status !== 0) {
      releaseStruct(made.handle)
      this.#end = this.#failure(status)
      throw this.#end
    }
    // A released array is the end of the stream.
    if (readWords(made.address + RELEASE, 1)[0] === 0) {
      this.#end = true
      releaseStruct(made.handle)
      return undefined
    }
    return batchOf(this.schema, made, this.#isWritable)
  }

  /**
   * Reads the next batch, which the caller closes.
   *
   * @returns undefined at the end. @throws {ArrowError} if the stream has failed, also at each further call, is being read, or a batch is
   * not valid. @throws {ScopeClosedError} if the stream is closed.
   */
  read(): ArrowBatch | undefined {
    const made = this.#begin()
    if (made === undefined) return undefined
    this.#isReading = true
    let status: number
    try {
      status = this.#calls.getNext(BigInt(this.#owned.address), BigInt(made.address))
    } catch (error) {
      releaseStruct(made.handle)
      throw error
    } finally {
      this.#isReading = false
    }
    return this.#finish(made, status)
  }

  /** Reads the next batch on another thread, as {@link read}. Rejects with its errors. */
  async readAsync(): Promise<ArrowBatch | undefined> {
    const made = this.#begin()
    if (made === undefined) return undefined
    this.#isReading = true
    let status: number
    try {
      status = await this.#calls.getNext.async(BigInt(this.#owned.address), BigInt(made.address))
    } catch (error) {
      releaseStruct(made.handle)
      throw error
    } finally {
      this.#isReading = false
    }
    return this.#finish(made, status)
  }

  /** The batches, read on this thread. */
  *[Symbol.iterator](): Generator<ArrowBatch, void, void> {
    let batch: ArrowBatch | undefined
    try {
      while ((batch = this.read()) !== undefined) {
        yield batch
        pass(batch)
      }
    } finally {
      if (batch !== undefined) pass(batch)
      this[Symbol.dispose]()
    }
  }

  /** The batches, read on another thread. */
  async *[Symbol.asyncIterator](): AsyncGenerator<ArrowBatch, void, void> {
    let batch: ArrowBatch | undefined
    try {
      while ((batch = await this.readAsync()) !== undefined) {
        yield batch
        pass(batch)
      }
    } finally {
      if (batch !== undefined) pass(batch)
      this[Symbol.dispose]()
    }
  }

  override toString(): string {
    const { open } = this.gate
    return `ArrowStream (${open ? 'open' : 'closed'}) of ${String(this.schema)}`
  }
}

/** Closes a batch that a loop has passed. */
function pass(batch: ArrowBatch): void {
  if (!batch.isKept) batch.closeSoon()
}

function errnoName(status: number): string {
  try {
    return `${getSystemErrorName(-Math.abs(status))} (${status})`
  } catch {
    return `the number ${status}`
  }
}
