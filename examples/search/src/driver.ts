/** The driver, a separate process in which the kernels run. It receives handles of shared memory, never bytes. */
import { Library, tensor } from 'tenon'
import { serveDriver, type Kernel } from 'tenon/pools'
import { MemorySegment } from 'tenon/scope'
import { nativeLibrary } from './native.ts'

const library = Library.open(nativeLibrary('score'))

/** Makes an operation of the driver from a kernel of the library. The operands are tensors over the memory that the client shares. */
function kernelOperation(name: string): Kernel {
  const kernel = library.kernel(name)
  return {
    plan: (inputs, outputs) => {
      const shapes = inputs.map(({ dimensions }) => dimensions)
      const rows = [shapes[0]![0]!]
      return {
        dimensions: outputs.map(() => rows),
        run: (from, to) => {
          const operands = from.map((bytes, i) => tensor('f32', shapes[i]!, MemorySegment.ofBuffer(bytes)))
          kernel(...operands, { into: tensor('f32', rows, MemorySegment.ofBuffer(to[0]!)) })
        },
      }
    },
  }
}

serveDriver({
  kernels: new Map([
    ['SCORE_ROWS', kernelOperation('score_rows')],
    ['WRITE_NOWHERE', kernelOperation('write_nowhere')],
  ]),
})
