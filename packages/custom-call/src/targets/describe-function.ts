import { dtypeInfo, type TensorType } from '@tenon/core'
import { addressOf, LAYOUTS, writeAddress } from '@tenon/core/internal'

const { size: FUNCTION_SIZE, offsets: FUNCTION } = LAYOUTS.tn_xla_function_t
const { size: BUFFER_SIZE, offsets: BUFFER } = LAYOUTS.tn_xla_function_buffer_t

export interface ExactFunction {
  readonly types: readonly TensorType[]
  readonly operandCount: number
  /** Memory in which native code leaves the pointers of a call, two words each, until the next one. */
  readonly pointers: Int32Array
}

/** Makes the `tn_xla_function_t`. `exact` is undefined for a function that checks its calls itself. */
export function describeFunction(exact: ExactFunction | undefined): DataView {
  if (exact === undefined) {
    const reading = new DataView(new ArrayBuffer(FUNCTION_SIZE))
    reading.setUint32(FUNCTION.reads, 1, true)
    return reading
  }
  const { types, operandCount, pointers } = exact
  const dimsAt = FUNCTION_SIZE + BUFFER_SIZE * types.length
  const view = new DataView(new ArrayBuffer(dimsAt + 8 * types.reduce((sum, { shape }) => sum + shape.length, 0)))
  const base = addressOf(view)
  view.setUint32(FUNCTION.operands, operandCount, true)
  view.setUint32(FUNCTION.results, types.length - operandCount, true)
  writeAddress(view, FUNCTION.buffers, base + FUNCTION_SIZE)
  writeAddress(view, FUNCTION.data, addressOf(pointers))
  let dims = dimsAt
  types.forEach(({ dtype, shape }, i) => {
    const at = FUNCTION_SIZE + BUFFER_SIZE * i
    view.setInt32(at + BUFFER.dtype, dtypeInfo(dtype).xla, true)
    view.setUint32(at + BUFFER.rank, shape.length, true)
    writeAddress(view, at + BUFFER.dims, base + dims)
    for (const size of shape) {
      view.setBigInt64(dims, BigInt(size), true)
      dims += 8
    }
  })
  return view
}
