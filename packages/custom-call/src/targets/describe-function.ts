import { dtypeInfo, type TensorType } from '@tenon/core'
import { addressOf, pointerBits } from '@tenon/core/internal'

/** `tn_xla_function_buffer_t` and `tn_xla_function_t`, in bytes. */
const BUFFER_SIZE = 24
const FUNCTION_SIZE = 40
const READS = 32

/** The `tn_xla_function_t` of a function that checks its calls itself. */
export function describeReadingFunction(): DataView {
  const view = new DataView(new ArrayBuffer(FUNCTION_SIZE))
  view.setUint32(READS, 1, true)
  return view
}

/** The `tn_xla_function_t` of one that takes exact types, the buffers behind it, and their dimensions behind those. */
export function describeFunction(
  types: readonly TensorType[],
  operandCount: number,
  pointersAddress: number,
): DataView {
  const dimsAt = FUNCTION_SIZE + BUFFER_SIZE * types.length
  const view = new DataView(new ArrayBuffer(dimsAt + 8 * types.reduce((sum, { shape }) => sum + shape.length, 0)))
  const base = addressOf(view)
  view.setUint32(0, operandCount, true)
  view.setUint32(8, types.length - operandCount, true)
  view.setFloat64(16, pointerBits(base + FUNCTION_SIZE), true)
  view.setFloat64(24, pointerBits(pointersAddress), true)
  let dims = dimsAt
  types.forEach(({ dtype, shape }, i) => {
    const at = FUNCTION_SIZE + BUFFER_SIZE * i
    view.setInt32(at, dtypeInfo(dtype).xla, true)
    view.setUint32(at + 8, shape.length, true)
    view.setFloat64(at + 16, pointerBits(base + dims), true)
    for (const size of shape) {
      view.setBigInt64(dims, BigInt(size), true)
      dims += 8
    }
  })
  return view
}
