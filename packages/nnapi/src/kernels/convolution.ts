import type { OperationName } from '../model/operation-types.ts'
import type { KernelInput } from './kernel.ts'
import {
  define,
  type Entry,
  flag,
  type Form,
  forms,
  type InputSpec,
  int,
  isFloat,
  list,
  type Operation,
  type Pair,
  productOf,
  REALS,
  tensor,
} from './define.ts'
import { checkWindow, dimensionsOf, imageShape, INT32_MAXIMUM, type Padding, windowing } from './shapes.ts'

const PER_CHANNEL = 'TENSOR_QUANT8_SYMM_PER_CHANNEL'

const image = tensor('an image', REALS, 4, 4)
const bias = tensor('a bias', ['TENSOR_FLOAT32', 'TENSOR_FLOAT16', 'TENSOR_INT32'], 1, 1)
const layout = flag('a layout')
const activation = int('an activation')
const scheme = int('a padding scheme')
const edges: Form = ['left', 'right', 'top', 'bottom'].map((side) => int(`a padding at the ${side}`))
const strides: Form = [int('a stride of the width'), int('a stride of the height')]
const windows: Form = [int('a width of the window'), int('a height of the window')]
const dilations: Form = [int('a dilation of the width'), int('a dilation of the height')]
const filterOf = (...more: readonly string[]): InputSpec => tensor('a filter', [...REALS, ...more], 4, 4)

/** Returns the forms with a layout, and dilations, as optional inputs. Dilations come in pairs. */
const spatial = (required: Form): Form[] => [
  ...forms(required, layout),
  [...required, { ...layout, isOptional: true }, ...dilations],
]

/** Checks types and the bias, whose scale is that of the products, or 0 for a filter with a scale for each channel. */
function checkTypes(operation: Operation, channelDim?: number): void {
  const [input, filter, added] = operation.inputs as [KernelInput, KernelInput, KernelInput]
  const isQuantized = !isFloat(input)
  operation.checkType(operation.output, [input.type], 'an output')
  const filters = isQuantized && channelDim !== undefined ? [input.type, PER_CHANNEL] : [input.type]
  operation.checkType(filter, filters, 'a filter')
  operation.checkType(added, [isQuantized ? 'TENSOR_INT32' : input.type], 'a bias')
  if (filter.type === PER_CHANNEL && filter.channelQuant!.channelDim !== channelDim) {
    const received = filter.channelQuant!.channelDim
    throw operation.refused(`must get a filter with scales along axis ${channelDim}, got ${received}`)
  }
  const product = filter.type === PER_CHANNEL ? 0 : input.scale * filter.scale
  if (isQuantized && Math.abs(added.scale - product) > 1e-6 * product)
    throw operation.refused(`must get a bias of scale ${product}, got ${added.scale}`)
}

function checkBias(operation: Operation, channels: number): void {
  const { dimensions } = operation.input(2)
  if (dimensions[0] !== channels)
    throw operation.refused(`must get a bias of shape [${channels}], got [${dimensions.join(', ')}]`)
}

/** Returns the padding of columns and of rows: explicit in four inputs from `at`, or a scheme in one. */
function paddingOf(operation: Operation, at: number, isExplicit: boolean): readonly [columns: Padding, rows: Padding] {
  return isExplicit ? [operation.pair(at), operation.pair(at + 2)] : [operation.number(at), operation.number(at)]
}

type Sizes = readonly [count: number, height: number, width: number, depth: number]

/** The inputs are image, filter, bias, padding, strides, the multiplier of a depthwise convolution, and activation. */
function convolution(name: OperationName): Entry {
  const isDepthwise = name === 'DEPTHWISE_CONV_2D'
  const extra = isDepthwise ? 1 : 0
  const tail = [...strides, ...(isDepthwise ? [int('a multiplier')] : []), activation]
  const head = [image, filterOf(PER_CHANNEL), bias]
  const accepted = [...spatial([...head, scheme, ...tail]), ...spatial([...head, ...edges, ...tail])]
  return define(name, accepted, (operation) => {
    const channelDim = isDepthwise ? 3 : 0
    checkTypes(operation, channelDim)
    // With 8 or 10 inputs the eighth distinguishes the two signatures: the implicit one has a layout flag there.
    const isExplicit = operation.inputs.length >= 10 + extra && operation.input(7 + extra).type === 'INT32'
    const at = isExplicit ? 7 : 4
    const layoutAt = at + 3 + extra
    const isNchw = operation.isSet(layoutAt)
    const padding = paddingOf(operation, 3, isExplicit)
    const steps = operation.pair(at)
    const gaps: Pair = operation.inputs.length > layoutAt + 1 ? operation.pair(layoutAt + 1) : [1, 1]
    const code = operation.activation(at + 2 + extra)
    if (Math.min(...gaps) < 1) throw operation.refused(`must get dilations from 1 up, got ${Math.min(...gaps)}`)
    checkWindow(operation, 1, steps[0], padding[0])
    checkWindow(operation, 1, steps[1], padding[1])
    const [count, height, width, depth] = operation.input(1).dimensions as Sizes
    const channels = isDepthwise ? depth : count
    checkBias(operation, channels)
    const from = imageShape(operation.input(0).dimensions, isNchw)
    if (isDepthwise) {
      const multiplier = operation.number(at + 2)
      if (count !== 1 || multiplier < 1 || channels !== from.channels * multiplier) {
        const received = `[${operation.input(1).dimensions.join(', ')}]`
        throw operation.refused(`must get a filter of shape [1, h, w, ${from.channels * multiplier}], got ${received}`)
      }
    } else if (depth !== from.channels)
      throw operation.refused(`must get a filter of depth ${from.channels}, got ${depth}`)
    const [columns, left] = windowing(operation, from.width, (width - 1) * gaps[0] + 1, steps[0], padding[0])
    const [rows, top] = windowing(operation, from.height, (height - 1) * gaps[1] + 1, steps[1], padding[1])
    const shape = dimensionsOf({ ...from, height: rows, width: columns, channels }, isNchw)
    const numbers = [left, top, ...steps, ...gaps, Number(isNchw)]
    return { shape, inputs: [0, 1, 2], activation: code, numbers }
  })
}

/** Returns the size of one axis of a transposed convolution, and the padding before it. */
function transposed(
  operation: Operation,
  input: number,
  filter: number,
  stride: number,
  padding: Padding,
  wanted: number | undefined,
): Pair {
  checkWindow(operation, filter, stride, padding)
  const full = (input - 1) * stride + filter
  const isSame = padding === 1
  const size = typeof padding === 'number' ? (isSame ? wanted! : full) : full - padding[0] - padding[1]
  if (size < 1 || size > INT32_MAXIMUM || (wanted !== undefined && size !== wanted))
    throw operation.refused(`must make an axis of ${wanted ?? '1 to 2^31 - 1'} elements, got ${size}`)
  if (isSame && Math.ceil(size / stride) !== input)
    throw operation.refused(`must get a shape whose axes divided by strides are the image's ${input}, got ${size}`)
  const before = typeof padding === 'number' ? (isSame ? Math.floor(Math.max(full - size, 0) / 2) : 0) : padding[0]
  return [size, before]
}

const transposedHead = [image, filterOf(PER_CHANNEL), bias]

const transposedConvolution = define(
  'TRANSPOSE_CONV_2D',
  [
    [...transposedHead, list('a shape'), scheme, ...strides, activation, layout],
    [...transposedHead, ...edges, ...strides, activation, layout],
  ],
  (operation) => {
    checkTypes(operation, 0)
    const isExplicit = operation.inputs.length === 11
    const at = isExplicit ? 7 : 5
    const isNchw = operation.isSet(at + 3)
    const padding = paddingOf(operation, isExplicit ? 3 : 4, isExplicit)
    const steps = operation.pair(at)
    const code = operation.activation(at + 2)
    const [channels, height, width, depth] = operation.input(1).dimensions as Sizes
    checkBias(operation, channels)
    const from = imageShape(operation.input(0).dimensions, isNchw)
    if (depth !== from.channels) throw operation.refused(`must get a filter of depth ${from.channels}, got ${depth}`)
    const wanted = isExplicit ? undefined : imageShape(operation.list(3, 4, 4, 'a shape'), isNchw)
    if (wanted !== undefined && (wanted.batches !== from.batches || wanted.channels !== channels)) {
      const expected = `${from.batches} batches and ${channels} channels`
      throw operation.refused(`must get a shape of ${expected}, got ${wanted.batches} and ${wanted.channels}`)
    }
    const [columns, left] = transposed(operation, from.width, width, steps[0], padding[0], wanted?.width)
    const [rows, top] = transposed(operation, from.height, height, steps[1], padding[1], wanted?.height)
    const shape = dimensionsOf({ ...from, height: rows, width: columns, channels }, isNchw)
    return { shape, inputs: [0, 1, 2], activation: code, numbers: [left, top, ...steps, 0, 0, Number(isNchw)] }
  },
)

/** Refuses a window that can lie in the padding alone, where it has nothing to pool. */
function checkPadding(operation: Operation, padding: Padding, window: number): void {
  if (typeof padding === 'object' && Math.max(...padding) >= window)
    throw operation.refused(`must get padding below the window ${window}, got ${padding.join(' and ')}`)
}

function pooling(name: OperationName): Entry {
  const tail = [...strides, ...windows, activation]
  const accepted = [...forms([image, scheme, ...tail], layout), ...forms([image, ...edges, ...tail], layout)]
  return define(name, accepted, (operation) => {
    operation.checkSameType(operation.input(0))
    const isExplicit = operation.inputs.length >= 10
    const at = isExplicit ? 5 : 2
    const isNchw = operation.isSet(at + 5)
    const padding = paddingOf(operation, 1, isExplicit)
    const steps = operation.pair(at)
    const window = operation.pair(at + 2)
    for (const i of [0, 1] as const) {
      checkWindow(operation, window[i], steps[i], padding[i])
      checkPadding(operation, padding[i], window[i])
    }
    const code = operation.activation(at + 4)
    const from = imageShape(operation.input(0).dimensions, isNchw)
    const [columns, left] = windowing(operation, from.width, window[0], steps[0], padding[0])
    const [rows, top] = windowing(operation, from.height, window[1], steps[1], padding[1])
    const shape = dimensionsOf({ ...from, height: rows, width: columns }, isNchw)
    return { shape, activation: code, numbers: [left, top, ...steps, ...window, Number(isNchw)] }
  })
}

export const convolutionKernels: readonly Entry[] = [
  convolution('CONV_2D'),
  convolution('DEPTHWISE_CONV_2D'),
  transposedConvolution,
  define(
    'FULLY_CONNECTED',
    [[tensor('an input', REALS, 2), tensor('weights', [...REALS, PER_CHANNEL], 2, 2), bias, activation]],
    (operation) => {
      checkTypes(operation)
      const code = operation.activation(3)
      const [units, size] = operation.input(1).dimensions as Pair
      checkBias(operation, units)
      const count = productOf(operation.input(0).dimensions)
      if (count % size !== 0)
        throw operation.refused(`must get an input of a multiple of ${size} elements, got ${count}`)
      return { shape: [count / size, units], inputs: [0, 1, 2], activation: code }
    },
  ),
  pooling('AVERAGE_POOL_2D'),
  pooling('MAX_POOL_2D'),
]
