import type { OperationName } from '../model/operation-types.ts'
import { define, type Entry, flag, type Form, forms, int, type Operation, REALS, tensor } from './define.ts'
import { dimensionsOf, imageShape, INT32_MAXIMUM } from './shapes.ts'

const image = tensor('an image', REALS, 4, 4)
const layout = flag('a layout')
const options = [flag('whether to align corners'), flag('whether pixels have centers')]
const sizes: Form = [image, int('a width'), int('a height')]
const scales: Form = ['a scale of the width', 'a scale of the height'].map((what) => {
  return { what, types: ['FLOAT32', 'FLOAT16'] }
})

/** Returns an axis of the result: the number itself, or a factor, whose product is rounded down. */
function sizeOf(operation: Operation, index: number, input: number): number {
  const isScale = operation.input(index).type !== 'INT32'
  const number = operation.number(index)
  const size = isScale ? Math.floor(Math.fround(input * number)) : number
  if (size >= 1 && size <= INT32_MAXIMUM) return size
  throw operation.refused(`must make an image of sizes from 1 to 2^31 - 1, got ${size}`)
}

function resize(name: OperationName, needsLayout: boolean): Entry {
  const accepted = [sizes, [image, ...scales]].flatMap((form) =>
    needsLayout ? forms([...form, layout], ...options) : forms(form, layout, ...options),
  )
  return define(name, accepted, (operation) => {
    const input = operation.input(0)
    operation.checkSameType(input)
    const scaleType = input.type === 'TENSOR_FLOAT16' ? 'FLOAT16' : 'FLOAT32'
    for (const i of [1, 2]) operation.checkType(operation.input(i), ['INT32', scaleType], `size ${i}`)
    const isNchw = operation.isSet(3)
    const [aligns, hasCenters] = [operation.isSet(4), operation.isSet(5)]
    if (aligns && hasCenters) throw operation.refused('must not align corners if pixels have centers')
    const from = imageShape(input.dimensions, isNchw)
    const to = { ...from, width: sizeOf(operation, 1, from.width), height: sizeOf(operation, 2, from.height) }
    const numbers = [Number(aligns), Number(hasCenters), 0, 0, 0, 0, Number(isNchw)]
    return { shape: dimensionsOf(to, isNchw), numbers }
  })
}

export const resizeKernels: readonly Entry[] = [
  resize('RESIZE_BILINEAR', false),
  resize('RESIZE_NEAREST_NEIGHBOR', true),
]
