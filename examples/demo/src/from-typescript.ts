import { f32, Library, tensor, type PreparedCall, type Tensor, type TensorType } from 'tenon'
import { broadcastAdd, checkClose, rmsNorm } from './reference.ts'
import { medianNs } from './timing.ts'

/** The accuracy and the time of a kernel. */
export interface Outcome {
  readonly name: string
  /** The largest difference from double precision. */
  readonly difference: number
  /** The time of one run of the kernel, including the call, in nanoseconds. */
  readonly nativeNs: number
  /** The time of the same computation in TypeScript, in nanoseconds. */
  readonly scriptNs: number
}

/** A call, and the same computation in TypeScript, which writes to `out`. */
interface Case {
  readonly name: string
  readonly operands: readonly Tensor[]
  readonly result: TensorType
  prepare(options: { operands: readonly Tensor[]; results: readonly TensorType[] }): PreparedCall
  reference(out?: Float64Array): Float64Array
}

const numbers = (source: Tensor): Float32Array => source.view() as Float32Array

/** Calls kernels from TypeScript, checks their results, and measures them. */
export function callFromTypeScript(libraryPath: string, iris: Tensor, mean: Tensor, digits: Tensor): Outcome[] {
  const library = Library.open(libraryPath)
  try {
    const attrs = { eps: f32(1e-5) }
    const add = {
      operands: [mean, digits],
      result: f32([2048]),
      reference: (out?: Float64Array) => broadcastAdd(numbers(mean), numbers(digits), out),
    }
    const cases: Case[] = [
      {
        name: 'rms_norm',
        operands: [iris],
        result: f32([150, 4]),
        prepare: (options) => library.customCall('rms_norm').prepare({ ...options, attrs }),
        reference: (out) => rmsNorm(numbers(iris), 4, Math.fround(1e-5), out),
      },
      { name: 'broadcast_add', ...add, prepare: (options) => library.customCall('broadcast_add').prepare(options) },
      { name: 'do_custom_call', ...add, prepare: (options) => library.hostCall('do_custom_call').prepare(options) },
    ]
    return cases.map(runCase)
  } finally {
    library.close()
  }
}

function runCase({ name, operands, result, prepare, reference }: Case): Outcome {
  const call = prepare({ operands, results: [result] })
  const y = tensor(result.dtype, result.shape)
  const bound = call.bind(operands, [y])
  try {
    bound.run()
    const out = reference()
    const difference = checkClose(numbers(y), out, 1e-6)
    return { name, difference, nativeNs: medianNs(() => bound.run()), scriptNs: medianNs(() => void reference(out)) }
  } finally {
    bound.close()
    call.close()
  }
}
