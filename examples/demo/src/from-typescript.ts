import { Library, type Tensor } from 'tenon'
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
  readonly operands: readonly Tensor<'float32'>[]
  readonly attributes?: object
  reference(out?: Float64Array): Float64Array
}

/** Calls kernels from TypeScript, checks their results, and measures them. */
export function callFromTypeScript(
  libraryPath: string,
  iris: Tensor<'float32'>,
  mean: Tensor<'float32'>,
  digits: Tensor<'float32'>,
): Outcome[] {
  const library = Library.open(libraryPath)
  try {
    const add = {
      operands: [mean, digits],
      reference: (out?: Float64Array) => broadcastAdd(mean.view(), digits.view(), out),
    }
    const cases: Case[] = [
      {
        name: 'rms_norm',
        operands: [iris],
        attributes: { eps: 1e-5 },
        reference: (out) => rmsNorm(iris.view(), 4, Math.fround(1e-5), out),
      },
      { name: 'broadcast_add', ...add },
      { name: 'do_custom_call', ...add },
    ]
    return cases.map((one) => runCase(library, one))
  } finally {
    library.close()
  }
}

function runCase(library: Library, { name, operands, attributes, reference }: Case): Outcome {
  const kernel = library.kernel<Tensor<'float32'>>(name)
  const y = kernel(...operands, ...(attributes === undefined ? [] : [attributes]))
  const out = reference()
  const difference = checkClose(y.view(), out, 1e-6)
  const call = kernel.prepare(operands, attributes)
  const bound = call.bind(operands, [y])
  try {
    return { name, difference, nativeNs: medianNs(() => bound.run()), scriptNs: medianNs(() => void reference(out)) }
  } finally {
    bound.close()
    call.close()
  }
}
