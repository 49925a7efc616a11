import { tensor, type NativeAllocator, type Tensor } from 'tenon'
import { Module } from 'tenon/packed-func'
import { StringTensor } from 'tenon/tstring'
import { nativeLibrary } from './native.ts'

/** The length of the vector of a text. */
const BUCKETS = 4096

/** The index of a text, and its similarity to the query from 0 to 1. */
export interface Match {
  readonly index: number
  readonly score: number
}

/** A kernel that scores rows: `(features, weights, query) -> scores`. */
export type Score = (features: Tensor, weights: Tensor, query: Tensor) => Tensor

/** Texts as vectors in shared memory, the weights of their features, and the vector of the query. */
export class SearchIndex {
  readonly #features: Tensor
  readonly #weights: Tensor
  readonly #query: Tensor
  readonly #module = Module.open(nativeLibrary('text'))

  /** @param memory where the vectors lie, so that a worker uses them in place */
  constructor(texts: readonly string[], memory: NativeAllocator) {
    const allocate = (...shape: number[]): Tensor<'float32'> =>
      tensor('float32', shape, undefined, { allocator: memory })
    const features = allocate(texts.length, BUCKETS)
    const weights = allocate(BUCKETS)
    this.#writeFeatures(texts, features)
    weights.view().set(rarities(features.view(), texts.length))
    this.#features = features
    this.#weights = weights
    this.#query = allocate(1, BUCKETS)
  }

  /** The number of bytes that a worker reads for one query. None of them are sent. */
  get operandBytes(): number {
    return [this.#features, this.#weights, this.#query].reduce((sum, { type }) => sum + type.byteSize, 0)
  }

  /** Returns the most similar texts to a query, best first. */
  search(score: Score, query: string, limit: number): Match[] {
    this.#writeFeatures([query], this.#query)
    return score(this.#features, this.#weights, this.#query.reshape([BUCKETS]))
      .toArray()
      .map((value, index) => ({ index, score: Number(value) }))
      .toSorted((a, b) => b.score - a.score)
      .slice(0, limit)
  }

  /** Writes the vectors of texts with a kernel that reads the strings in place, into the memory that the worker reads. */
  #writeFeatures(texts: readonly string[], to: Tensor): void {
    this.#module.get('text_features')(StringTensor.from(texts).tensor(), to)
  }
}

/** Computes the weight of each bucket: its inverse document frequency. */
function rarities(features: Float32Array, count: number): Float32Array {
  const having = new Float64Array(BUCKETS)
  features.forEach((value, i) => (having[i % BUCKETS]! += value > 0 ? 1 : 0))
  return Float32Array.from(having, (texts) => Math.log((count + 1) / (texts + 1)))
}
