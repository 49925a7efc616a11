/** A driver for a simulated device. Its buffers are pages of rows in memory that no client maps, and a longer cache shares them. */
import { type Kernel, type KernelOperand, type PlacedBuffer, serveDriver } from 'tenon/nnapi'

/** The rows of a page. */
const PAGE = 16

class PagedBuffer implements PlacedBuffer {
  readonly rowSize: number
  #pages: { readonly bytes: Uint8Array; used: number }[] = []
  #rows = 0

  constructor({ dimensions }: KernelOperand) {
    this.rowSize = dimensions.slice(1).reduce((size, axis) => size * axis, Float32Array.BYTES_PER_ELEMENT)
  }

  /** The rows of a value tell its size: there is nothing to make room for. */
  resize(): void {}

  copyFrom(source: Uint8Array): void {
    this.close()
    for (let at = 0; at < source.length; at += this.rowSize) this.#push(source.subarray(at, at + this.rowSize))
  }

  copyTo(target: Uint8Array): void {
    for (let row = 0; row < this.#rows; row++) target.set(this.row(row), row * this.rowSize)
  }

  close(): void {
    this.#pages = []
    this.#rows = 0
  }

  row(index: number): Uint8Array {
    const at = (index % PAGE) * this.rowSize
    return this.#pages[Math.floor(index / PAGE)]!.bytes.subarray(at, at + this.rowSize)
  }

  /** Takes the pages of a buffer over, and appends a row: nothing that the other buffer has is copied or changed. */
  append(other: PagedBuffer, row: Uint8Array): void {
    this.#pages = [...other.#pages]
    this.#rows = other.#rows
    this.#push(row)
  }

  #push(row: Uint8Array): void {
    const used = this.#rows % PAGE
    let page = used === 0 ? undefined : this.#pages.pop()
    // Somebody else may have appended another row to a shared page.
    if (page?.used !== used) {
      const bytes = new Uint8Array(PAGE * this.rowSize)
      if (page !== undefined) bytes.set(page.bytes.subarray(0, used * this.rowSize))
      page = { bytes, used }
    }
    page.bytes.set(row, used * this.rowSize)
    page.used++
    this.#pages.push(page)
    this.#rows++
  }
}

const floats = (bytes: Uint8Array): Float32Array => new Float32Array(bytes.slice().buffer)

/** (cache [n, k], row [1, k]) -> cache [n + 1, k] */
const append: Kernel = {
  plan: ([cache]) => ({
    dimensions: [[cache!.dimensions[0]! + 1, cache!.dimensions[1]!]],
    runPlaced: ([from, row], [to]) => (to as PagedBuffer).append(from as PagedBuffer, row as Uint8Array),
  }),
}

/** (cache [n, k], query [k]) -> scores [n] */
const attend: Kernel = {
  plan: ([rows]) => ({
    dimensions: [[rows!.dimensions[0]!]],
    runPlaced: ([cache, bytes], [scores]) => {
      const query = floats(bytes as Uint8Array)
      const scoreOf = (row: Float32Array): number => row.reduce((sum, value, i) => sum + value * query[i]!, 0)
      const count = (scores as Uint8Array).length / Float32Array.BYTES_PER_ELEMENT
      const all = Array.from({ length: count }, (_, i) => scoreOf(floats((cache as PagedBuffer).row(i))))
      ;(scores as Uint8Array).set(new Uint8Array(Float32Array.from(all).buffer))
    },
  }),
}

serveDriver({
  kernels: new Map([
    ['APPEND', append],
    ['ATTEND', attend],
  ]),
  allocate: (operand) => new PagedBuffer(operand),
})
