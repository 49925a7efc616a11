import { tensor, type Tensor } from 'tenon'
import { Module } from 'tenon/packed-func'
import { buildModel, createFrozenPool, createPool, type Driver, type Pool, type PreparedModel } from 'tenon/pools'
import { StringTensor } from 'tenon/tstring'
import { nativeLibrary } from './native.ts'

/** The length of the vector of a text. */
const BUCKETS = 4096
const FLOAT = 4
const ROW = BUCKETS * FLOAT

/** The index of a text, and its similarity to the query from 0 to 1. */
export interface Match {
  readonly index: number
  readonly score: number
}

/**
 * Texts as vectors in shared memory, and the model that scores them. One pool contains the vectors, the query's vector and the
 * scores. A frozen pool contains the weights, which the driver uses in place because they cannot change.
 */
export class SearchIndex {
  readonly count: number
  readonly pool: Pool<'writable'>
  readonly #weights: Pool<'frozen'>
  readonly #module = Module.open(nativeLibrary('text'))

  constructor(texts: readonly string[]) {
    this.count = texts.length
    this.pool = createPool((this.count + 1) * ROW + this.count * FLOAT)
    this.#writeFeatures(texts, this.#tensor(0, [this.count, BUCKETS]))
    this.#weights = createFrozenPool(rarities(this.pool.view(), this.count))
  }

  /** The number of bytes that a driver reads and writes for one query. None of them are sent. */
  get operandBytes(): number {
    return this.pool.byteSize + this.#weights.byteSize
  }

  /** Prepares the model in a driver. Close the prepared model before the index. */
  async prepare(driver: Driver, operation: string): Promise<PreparedModel> {
    const model = buildModel((g) => {
      const features = g.input('TENSOR_FLOAT32', [this.count, BUCKETS])
      const query = g.input('TENSOR_FLOAT32', [BUCKETS])
      const weights = g.constant('TENSOR_FLOAT32', [BUCKETS], this.#weights.slice(0))
      g.output(g.operation(operation, [features, weights, query], { type: 'TENSOR_FLOAT32', dimensions: [this.count] }))
    })
    return driver.prepare(model)
  }

  /** Returns the most similar texts to a query, best first. */
  search(prepared: PreparedModel, query: string, limit: number): Match[] {
    const scoresAt = (this.count + 1) * ROW
    this.#writeFeatures([query], this.#tensor(this.count * ROW, [1, BUCKETS]))
    prepared.run({
      inputs: [this.pool.slice(0, this.count * ROW), this.pool.slice(this.count * ROW, ROW)],
      outputs: [this.pool.slice(scoresAt, this.count * FLOAT)],
    })
    return this.#tensor(scoresAt, [this.count])
      .toArray()
      .map((score, index) => ({ index, score: Number(score) }))
      .toSorted((a, b) => b.score - a.score)
      .slice(0, limit)
  }

  close(): void {
    this.pool.close()
    this.#weights.close()
  }

  #tensor(byteOffset: number, shape: readonly number[]): Tensor {
    return tensor('f32', shape, this.pool.segment.asSlice(byteOffset))
  }

  /** Writes the vectors of texts with a kernel that reads the strings in place, into the memory that the driver reads. */
  #writeFeatures(texts: readonly string[], to: Tensor): void {
    this.#module.get('text_features')(StringTensor.from(texts).tensor(), to)
  }
}

/** Computes the weight of each bucket: its inverse document frequency. */
function rarities(features: DataView, count: number): Float32Array {
  const table = new Float32Array(features.buffer, features.byteOffset, count * BUCKETS)
  const having = new Float64Array(BUCKETS)
  table.forEach((value, i) => (having[i % BUCKETS]! += value > 0 ? 1 : 0))
  return Float32Array.from(having, (texts) => Math.log((count + 1) / (texts + 1)))
}
