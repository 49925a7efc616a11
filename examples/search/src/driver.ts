/** The driver: a process of its own, in which the kernels run. It gets handles of shared memory, never bytes. */
import { Library, tensor, type CustomCall } from 'tenon'
import { serveDriver, type Kernel } from 'tenon/pools'
import { MemorySegment } from 'tenon/scope'
import { nativeLibrary } from './native.ts'

const library = Library.open(nativeLibrary('score'))

/** An operation of the driver that is a custom call: its operands are tensors over the memory that the client shares. */
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
