import { dtypeInfo, type Tensor } from '@tenon/core'
import { elementCodec } from '@tenon/core/internal'
import { formatElements } from './format-number.ts'

/** Arrays with more elements are abbreviated to EDGE elements at both ends of each axis, with NumPy's limits. */
const THRESHOLD = 1000
const EDGE = 3
const LINE_WIDTH = 75

/** Formats a row-major array like NumPy: nested brackets, aligned, with the middle of large arrays left out. */
export function formatTensor({ shape, dtype, type, segment }: Tensor): string {
  if (type.elementCount === 0) return '[]'
  const codec = elementCodec(dtype)
  const view = segment.view()
  const picked = shape.map((size) => pickIndices(size, type.elementCount > THRESHOLD))
  const offsets = picked.reduce<number[]>(
    (starts, indices, axis) =>
      starts.flatMap((start) => indices.filter(isIndex).map((index) => start * shape[axis]! + index)),
    [0],
  )
  const texts = formatElements(
    offsets.map((offset) => codec.read(view, offset * codec.byteSize)),
    dtypeInfo(dtype),
  )
  return shape.length === 0 ? texts[0]! : nest(texts[Symbol.iterator](), picked, 0)
}

/** The indices shown along an axis; undefined stands for the omitted ones. */
function pickIndices(size: number, abbreviated: boolean): (number | undefined)[] {
  const all = Array.from({ length: abbreviated && size > 2 * EDGE ? 2 * EDGE : size }, (_, index) => index)
  if (all.length === size) return all
  const end = all.slice(EDGE).map((index) => index + size - 2 * EDGE)
  return [...all.slice(0, EDGE), undefined, ...end]
}

const isIndex = (index: number | undefined): index is number => index !== undefined

function nest(texts: Iterator<string>, picked: readonly (number | undefined)[][], axis: number): string {
  const indent = ' '.repeat(axis + 1)
  if (axis === picked.length - 1) {
    const items = picked[axis]!.map((index) => (index === undefined ? '...' : (texts.next().value as string)))
    return `[${wrap(items, indent)}]`
  }
  const gap = '\n'.repeat(picked.length - 1 - axis)
  return `[${picked[axis]!.map((index) => (index === undefined ? '...' : nest(texts, picked, axis + 1))).join(`${gap}${indent}`)}]`
}

function wrap(items: readonly string[], indent: string): string {
  const lines: string[] = []
  let line = ''
  for (const item of items) {
    if (line !== '' && indent.length + line.length + 1 + item.length > LINE_WIDTH - indent.length) {
      lines.push(line)
      line = item
    } else line = line === '' ? item : `${line} ${item}`
  }
  return [...lines, line].join(`\n${indent}`)
}
