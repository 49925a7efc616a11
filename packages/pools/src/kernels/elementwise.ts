import { refuse, type Kernel, type KernelOperand } from './kernel.ts'
import {
  activationOf,
  axisOf,
  broadcastShape,
  checkInputs,
  checkRank,
  checkSameType,
  checkType,
  FLOATS,
  isFloat,
  REALS,
  scalarOf,
} from './shapes.ts'

/** ADD, SUB, MUL and DIV: two tensors that broadcast, and a fused activation, which whole numbers don't have. */
function binary(name: string, operation: number, types: readonly string[]): Kernel {
  return {
    plan(inputs, [output]) {
      checkInputs(inputs, [3], name)
      const [a, b, activation] = inputs as [(typeof inputs)[0], (typeof inputs)[0], (typeof inputs)[0]]
      checkType(a, types, name, 'tensors')
      checkType(b, [a.type], name, 'two tensors')
      checkType(output!, [a.type], name, 'an output')
      checkRank(a, 1, 6, name, 'tensors')
      checkRank(b, 1, 6, name, 'tensors')
      const bound = activationOf(activation, name)
      if (a.type === 'TENSOR_INT32' && bound !== 0)
        throw refuse(name, `must get activation 0 for TENSOR_INT32, got ${bound}`)
      return {
        dimensions: [broadcastShape(name, a.dimensions, b.dimensions)],
        native: { operation, inputs: [0, 1], activation: bound },
      }
    },
  }
}

/** What the scale and zero point of a quantized output of bounded operations must be, unsigned and signed. */
function checkOutputScale(name: string, output: KernelOperand, wanted: number, zero: number): void {
  const { type, scale, zeroPoint } = output
  const expected = type === 'TENSOR_QUANT8_ASYMM' ? zero : zero - 128
  if (!isFloat(output) && (scale !== wanted || zeroPoint !== expected)) {
    throw refuse(
      name,
      `must have an output of scale ${wanted} and zero point ${expected}, got ${scale} and ${zeroPoint}`,
    )
  }
}

/** One tensor to one of the same shape. `output` gives the scale and zero point that NNAPI fixes. */
function unary(name: string, operation: number, output?: { readonly scale: number; readonly zero: number }): Kernel {
  return {
    plan(inputs, [result]) {
      checkInputs(inputs, [1], name)
      checkType(inputs[0]!, REALS, name, 'a tensor')
      checkType(result!, [inputs[0]!.type], name, 'an output')
      checkRank(inputs[0]!, 1, 6, name, 'a tensor')
      if (output === undefined) checkSameType(inputs[0]!, result!, name)
      else checkOutputScale(name, result!, output.scale, output.zero)
      return { dimensions: [inputs[0]!.dimensions], native: { operation, inputs: [0] } }
    },
  }
}

const softmax: Kernel = {
  plan(inputs, [output]) {
    checkInputs(inputs, [2, 3], 'SOFTMAX')
    checkType(inputs[0]!, REALS, 'SOFTMAX', 'a tensor')
    checkType(output!, [inputs[0]!.type], 'SOFTMAX', 'an output')
    checkRank(inputs[0]!, 1, 6, 'SOFTMAX', 'a tensor')
    checkOutputScale('SOFTMAX', output!, 1 / 256, 0)
    const betaType = inputs[0]!.type === 'TENSOR_FLOAT16' ? 'FLOAT16' : 'FLOAT32'
    const beta = scalarOf(inputs[1]!, betaType, 'SOFTMAX', 'beta')
    if (!(beta > 0 && beta < Infinity)) throw refuse('SOFTMAX', `must get a finite beta above 0, got ${beta}`)
    const rank = inputs[0]!.dimensions.length
    const axis =
      inputs[2] === undefined ? rank - 1 : axisOf(scalarOf(inputs[2], 'INT32', 'SOFTMAX', 'an axis'), rank, 'SOFTMAX')
    return {
      dimensions: [inputs[0]!.dimensions],
      native: { operation: 25, inputs: [0], numbers: [axis], reals: [beta] },
    }
  },
}

/** Operations on each element, by name. */
export const elementwiseKernels: readonly (readonly [string, Kernel])[] = [
  ['ADD', binary('ADD', 0, [...REALS, 'TENSOR_INT32'])],
  ['SUB', binary('SUB', 36, [...REALS, 'TENSOR_INT32'])],
  ['MUL', binary('MUL', 18, [...REALS, 'TENSOR_INT32'])],
  ['DIV', binary('DIV', 30, [...FLOATS, 'TENSOR_INT32'])],
  ['RELU', unary('RELU', 19)],
  ['RELU1', unary('RELU1', 20)],
  ['RELU6', unary('RELU6', 21)],
  ['TANH', unary('TANH', 28, { scale: 1 / 128, zero: 128 })],
  ['LOGISTIC', unary('LOGISTIC', 14, { scale: 1 / 256, zero: 0 })],
  ['SOFTMAX', softmax],
]
