import type { OperationName } from '../model/operation-types.ts'
import {
  BOOLEANS,
  define,
  defineMany,
  type Entry,
  FLOATS,
  type InputSpec,
  flag,
  int,
  list,
  MOVABLE,
  REALS,
  tensor,
} from './define.ts'

/** Reduces along axes, each of which stays with size 1 if `keeps` is set. An axis may be named twice. */
function reduction(name: OperationName, types: readonly string[], keeps: InputSpec): Entry {
  return define(name, [[tensor('a tensor', types), list('axes'), keeps]], (operation) => {
    const input = operation.input(0)
    operation.checkSameType(input)
    const rank = operation.rankOf(0)
    const axes = new Set(operation.list(1, 0, 64, 'axes').map((axis) => operation.wrapAxis(axis, rank)))
    const keepsAxes = operation.number(2) > 0
    const mask = [...axes].reduce((bits, axis) => bits | (1 << axis), 0)
    const shape = input.dimensions.flatMap((size, axis) => (axes.has(axis) ? (keepsAxes ? [1] : []) : [size]))
    return { shape: shape.length === 0 ? [1] : shape, numbers: [mask] }
  })
}

const keepsAxes = flag('whether to keep the axes')

export const reduceKernels: readonly Entry[] = [
  reduction('MEAN', REALS, int('whether to keep the axes')),
  reduction('REDUCE_ALL', BOOLEANS, keepsAxes),
  reduction('REDUCE_ANY', BOOLEANS, keepsAxes),
  reduction('REDUCE_MAX', REALS, keepsAxes),
  reduction('REDUCE_MIN', REALS, keepsAxes),
  reduction('REDUCE_PROD', FLOATS, keepsAxes),
  reduction('REDUCE_SUM', FLOATS, keepsAxes),
  defineMany('TOPK_V2', [[tensor('a tensor', MOVABLE), int('a number of elements')]], 2, (operation) => {
    const input = operation.input(0)
    const [values, indices] = operation.outputs
    operation.checkSameType(input, values)
    operation.checkType(indices!, ['TENSOR_INT32'], 'a second output')
    const count = operation.number(1)
    const size = input.dimensions.at(-1)!
    if (count < 1 || count > size)
      throw operation.refused(`must get a number of elements from 1 to ${size}, got ${count}`)
    const shape = [...input.dimensions.slice(0, -1), count]
    return { shapes: [shape, shape], steps: [{ outputs: [0, 1] }] }
  }),
]
