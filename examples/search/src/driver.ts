/** The driver, a separate process in which the kernels run. It receives handles of shared memory, never bytes. */
import { Library, tensor, type CustomCall } from 'tenon'
import { serveDriver, type Kernel } from 'tenon/pools'
import { MemorySegment } from 'tenon/scope'
import { nativeLibrary } from './native.ts'

const library = Library.open(nativeLibrary('score'))

/** Makes an operation of the driver from a custom call. The operands are tensors over the memory that the client shares. */
function customCallKernel(call: CustomCall): Kernel {
  return {
    plan: (inputs, outputs) => {
      const shapes = inputs.map(({ dimensions }) => dimensions)
      const rows = [shapes[0]![0]!]
      return {
        dimensions: outputs.map(() => rows),
        run: (from, to) => {
          const operands = from.map((bytes, i) => tensor('f32', shapes[i]!, MemorySegment.ofBuffer(bytes)))
          call(operands, { results: to.map((bytes) => tensor('f32', rows, MemorySegment.ofBuffer(bytes))) })
        },
      }
    },
  }
}

serveDriver({
  kernels: new Map([
    ['SCORE_ROWS', customCallKernel(library.customCall('score_rows'))],
    ['WRITE_NOWHERE', customCallKernel(library.customCall('write_nowhere'))],
  ]),
})
