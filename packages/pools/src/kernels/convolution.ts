import { refuse, type Kernel, type KernelInput, type KernelOperand } from './kernel.ts'
import {
  activationOf,
  checkInputs,
  checkRank,
  checkType,
  isFloat,
  REALS,
  scalarOf,
  windowing,
  type Padding,
  type Windowing,
} from './shapes.ts'

const PER_CHANNEL = 'TENSOR_QUANT8_SYMM_PER_CHANNEL'

/**
 * Checks types of input, filter, bias and output. The bias of quantized ones has the scale of the products, which is 0 where
 * the filter has a scale for each index of `channelDim`; without it a filter can't have such.
 */
function checkTypes(name: string, inputs: readonly KernelInput[], output: KernelOperand, channelDim?: number): void {
  const [input, filter, bias] = inputs as [KernelInput, KernelInput, KernelInput]
  checkType(input, REALS, name, 'an input')
  checkType(output, [input.type], name, 'an output')
  if (isFloat(input)) {
    checkType(filter, [input.type], name, 'a filter')
    checkType(bias, [input.type], name, 'a bias')
    return
  }
  checkType(filter, channelDim === undefined ? [input.type] : [input.type, PER_CHANNEL], name, 'a filter')
  checkType(bias, ['TENSOR_INT32'], name, 'a bias')
  if (filter.type === PER_CHANNEL && filter.channelQuant!.channelDim !== channelDim) {
    throw refuse(name, `must get a filter with scales along axis ${channelDim}, got ${filter.channelQuant!.channelDim}`)
  }
  const product = filter.type === PER_CHANNEL ? 0 : input.scale * filter.scale
  if (Math.abs(bias.scale - product) > 1e-6 * product) {
    throw refuse(name, `must get a bias of scale ${product}, got ${bias.scale}`)
  }
}

/** A whole number of an INT32 input. */
type Whole = (index: number) => number

const wholeNumbers =
  (name: string, inputs: readonly KernelInput[]): Whole =>
  (index) =>
    scalarOf(inputs[index]!, 'INT32', name, `input ${index}`)

/** Padding of both axes of images: explicit in four inputs from `at`, or a scheme in one. */
function paddingOf(
  whole: Whole,
  at: number,
  isExplicit: boolean,
): { readonly columns: Padding; readonly rows: Padding } {
  return isExplicit
    ? { columns: { before: whole(at), after: whole(at + 1) }, rows: { before: whole(at + 2), after: whole(at + 3) } }
    : { columns: { scheme: whole(at) }, rows: { scheme: whole(at) } }
}

/** NNAPI's later optional inputs: the layout flag, which must say NHWC, and dilations. */
function dilationsOf(name: string, inputs: readonly KernelInput[], whole: Whole, at: number): [number, number] {
  const layout = inputs[at]
  if (layout !== undefined && scalarOf(layout, 'BOOL', name, 'a layout') !== 0)
    throw refuse(name, 'must get images as NHWC')
  return inputs.length > at + 1 ? [whole(at + 1), whole(at + 2)] : [1, 1]
}

interface Filtering {
  readonly columns: Windowing
  readonly rows: Windowing
  readonly numbers: readonly number[]
  readonly activation: number
}

/**
 * Strides, padding and places of a convolution whose own inputs (image, filter, bias) come first. Explicit padding has
 * `explicit` or more inputs. `extra` is how many numbers stand between the strides and the activation.
 */
function filteringOf(name: string, inputs: readonly KernelInput[], isExplicit: boolean, extra: number): Filtering {
  const whole = wholeNumbers(name, inputs)
  const [image, filter] = inputs as [KernelInput, KernelInput]
  const strides = isExplicit ? 7 : 4
  const padding = paddingOf(whole, 3, isExplicit)
  const [strideWidth, strideHeight] = [whole(strides), whole(strides + 1)]
  const [dilationWidth, dilationHeight] = dilationsOf(name, inputs, whole, strides + 3 + extra)
  if (dilationWidth < 1 || dilationHeight < 1) throw refuse(name, 'must get dilations from 1 up')
  const [, height, width] = image.dimensions as [number, number, number, number]
  const [, filterHeight, filterWidth] = filter.dimensions as [number, number, number, number]
  const columns = windowing(name, width, (filterWidth - 1) * dilationWidth + 1, strideWidth, padding.columns)
  const rows = windowing(name, height, (filterHeight - 1) * dilationHeight + 1, strideHeight, padding.rows)
  return {
    columns,
    rows,
    numbers: [columns.before, rows.before, strideWidth, strideHeight, dilationWidth, dilationHeight],
    activation: activationOf(inputs[strides + 2 + extra]!, name),
  }
}

function checkBias(name: string, bias: KernelInput, channels: number): void {
  if (bias.dimensions.length !== 1 || bias.dimensions[0] !== channels) {
    throw refuse(name, `must get a bias of shape [${channels}], got [${bias.dimensions.join(', ')}]`)
  }
}

const convolution: Kernel = {
  plan(inputs, [output]) {
    checkInputs(inputs, [7, 8, 10, 11, 13], 'CONV_2D')
    checkTypes('CONV_2D', inputs, output!, 0)
    const [image, filter, bias] = inputs as [KernelInput, KernelInput, KernelInput]
    checkRank(image, 4, 4, 'CONV_2D', 'an image')
    checkRank(filter, 4, 4, 'CONV_2D', 'a filter')
    if (filter.dimensions[3] !== image.dimensions[3]) {
      throw refuse('CONV_2D', `must get a filter of depth ${image.dimensions[3]}, got ${filter.dimensions[3]}`)
    }
    checkBias('CONV_2D', bias, filter.dimensions[0]!)
    // With 8 or 10 inputs the eighth tells the two signatures apart: a layout flag stands in the implicit one.
    const isExplicit = inputs.length >= 10 && inputs[7]!.type === 'INT32'
    const { rows, columns, numbers, activation } = filteringOf('CONV_2D', inputs, isExplicit, 0)
    return {
      dimensions: [[image.dimensions[0]!, rows.size, columns.size, filter.dimensions[0]!]],
      native: { operation: 3, inputs: [0, 1, 2], activation, numbers },
    }
  },
}

const depthwise: Kernel = {
  plan(inputs, [output]) {
    const name = 'DEPTHWISE_CONV_2D'
    checkInputs(inputs, [8, 9, 11, 12, 14], name)
    checkTypes(name, inputs, output!, 3)
    const [image, filter, bias] = inputs as [KernelInput, KernelInput, KernelInput]
    checkRank(image, 4, 4, name, 'an image')
    checkRank(filter, 4, 4, name, 'a filter')
    const isExplicit = inputs.length >= 11 && inputs[8]!.type === 'INT32'
    const multiplier = wholeNumbers(name, inputs)(isExplicit ? 9 : 6)
    const channels = filter.dimensions[3]!
    if (filter.dimensions[0] !== 1 || multiplier < 1 || channels !== image.dimensions[3]! * multiplier) {
      throw refuse(
        name,
        `must get a filter of shape [1, h, w, ${image.dimensions[3]! * multiplier}], got [${filter.dimensions.join(', ')}]`,
      )
    }
    checkBias(name, bias, channels)
    const { rows, columns, numbers, activation } = filteringOf(name, inputs, isExplicit, 1)
    return {
      dimensions: [[image.dimensions[0]!, rows.size, columns.size, channels]],
      native: { operation: 4, inputs: [0, 1, 2], activation, numbers },
    }
  },
}

const fullyConnected: Kernel = {
  plan(inputs, [output]) {
    checkInputs(inputs, [4], 'FULLY_CONNECTED')
    checkTypes('FULLY_CONNECTED', inputs, output!)
    const [input, weights, bias, activation] = inputs as [KernelInput, KernelInput, KernelInput, KernelInput]
    checkRank(input, 2, 6, 'FULLY_CONNECTED', 'an input')
    checkRank(weights, 2, 2, 'FULLY_CONNECTED', 'weights')
    const [units, size] = weights.dimensions as [number, number]
    const batches = input.dimensions.reduce((total, value) => total * value, 1) / size
    if (!Number.isInteger(batches))
      throw refuse('FULLY_CONNECTED', `must get an input of a multiple of ${size} elements`)
    checkBias('FULLY_CONNECTED', bias, units)
    return {
      dimensions: [[batches, units]],
      native: { operation: 9, inputs: [0, 1, 2], activation: activationOf(activation, 'FULLY_CONNECTED') },
    }
  },
}

/** A window that lies in the padding alone would have nothing to pool. */
function checkPadding(name: string, padding: Padding, window: number): void {
  if ('before' in padding && Math.max(padding.before, padding.after) >= window)
    throw refuse(name, `must get padding below the window of ${window}, got ${padding.before} and ${padding.after}`)
}

/** AVERAGE_POOL_2D and MAX_POOL_2D. */
function pooling(name: string, operation: number): Kernel {
  return {
    plan(inputs, [output]) {
      checkInputs(inputs, [7, 8, 10, 11], name)
      const image = inputs[0]!
      checkType(image, REALS, name, 'an image')
      checkRank(image, 4, 4, name, 'an image')
      if (output!.type !== image.type || output!.scale !== image.scale || output!.zeroPoint !== image.zeroPoint) {
        throw refuse(name, 'must have an output of the type, scale and zero point of its input')
      }
      const whole = wholeNumbers(name, inputs)
      const isExplicit = inputs.length >= 10
      const padding = paddingOf(whole, 1, isExplicit)
      const at = isExplicit ? 5 : 2
      const [strideWidth, strideHeight, width, height] = [whole(at), whole(at + 1), whole(at + 2), whole(at + 3)]
      checkPadding(name, padding.columns, width)
      checkPadding(name, padding.rows, height)
      dilationsOf(name, inputs, whole, at + 5)
      const columns = windowing(name, image.dimensions[2]!, width, strideWidth, padding.columns)
      const rows = windowing(name, image.dimensions[1]!, height, strideHeight, padding.rows)
      return {
        dimensions: [[image.dimensions[0]!, rows.size, columns.size, image.dimensions[3]!]],
        native: {
          operation,
          inputs: [0],
          activation: activationOf(inputs[at + 4]!, name),
          numbers: [columns.before, rows.before, strideWidth, strideHeight, width, height],
        },
      }
    },
  }
}

/** Operations on images and layers, by name. */
export const convolutionKernels: readonly (readonly [string, Kernel])[] = [
  ['CONV_2D', convolution],
  ['DEPTHWISE_CONV_2D', depthwise],
  ['FULLY_CONNECTED', fullyConnected],
  ['AVERAGE_POOL_2D', pooling('AVERAGE_POOL_2D', 1)],
  ['MAX_POOL_2D', pooling('MAX_POOL_2D', 17)],
]
