import {
  ArgumentError,
  dtypeInfo,
  type DType,
  type KernelSignature,
  type Parameter,
  type StringLayout,
} from '@tenon/core'

/** An input or an output of a model, as its metadata describes it. */
export interface TensorSpec {
  readonly name: string
  readonly dtype: DType | 'string'
  /** The layout of the strings in the memory of the kernel; undefined for numbers. */
  readonly stringLayout: StringLayout | undefined
  /** The name of the element type in the protocol: `FP32`. */
  readonly datatype: string
  /** The sizes of the axes, with -1 for those that differ between requests. */
  readonly shape: readonly number[]
}

/**
 * The inputs or the outputs of a model, from the signature of its kernel or function.
 *
 * @throws {ArgumentError} for a parameter that the protocol cannot describe: one that may be absent or repeated, one with several
 * element types or without a fixed rank, and one with an element type that the protocol does not have.
 */
export function describeTensors(signature: KernelSignature, role: 'operands' | 'results'): readonly TensorSpec[] {
  return signature[role].filter(({ isToken }) => !isToken).map((parameter) => describeTensor(parameter, signature.name))
}

function describeTensor({ name, kind, dtypes, shape, stringLayout }: Parameter, model: string): TensorSpec {
  const dtype = stringLayout === undefined ? dtypes[0] : 'string'
  if (kind !== 'one') throw unserved(name, model, 'must be one tensor', 'Leave it out, or name each of them')
  if (dtype === undefined || dtypes.length > 1) {
    throw unserved(name, model, 'must have one element type', 'Name the element type')
  }
  const datatype = dtype === 'string' ? 'BYTES' : dtypeInfo(dtype).openInference
  if (datatype === undefined) {
    throw unserved(name, model, `must have an element type of the protocol, got ${dtype}`, 'Use another element type')
  }
  if (shape === undefined || shape.some((size) => size !== null && typeof size === 'object' && 'group' in size)) {
    throw unserved(name, model, 'must have a fixed number of axes', 'Name each axis')
  }
  const sizes = shape.map((size) => (typeof size === 'number' ? size : -1))
  return Object.freeze({ name, dtype, stringLayout, datatype, shape: Object.freeze(sizes) })
}

function unserved(name: string, model: string, rule: string, advice: string): ArgumentError {
  return new ArgumentError(`the parameter ${name} of the model ${model} ${rule}`, {
    hint: `${advice} in the option signature, for example '(x: f32[rows, 4]) -> (y: f32[rows, 4])'.`,
    details: { path: `signature.${name}` },
  })
}
