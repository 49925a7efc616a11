import { TenonError } from '@tenon/binary'
import type { Element } from './element-types.ts'
import { stepsOf, type Elements } from './tensor-elements.ts'
import type { TensorType } from './tensor-type.ts'

/** The elements shown at each end of a longer axis. */
const EDGE = 6
const MAX_ELEMENTS = 1000
const WIDTH = 80

/** A value, or the values along an axis. */
type Tree = string | readonly Tree[]

/**
 * The elements as text, in brackets for each axis, or the reason why they cannot be read. An axis with more than twice `EDGE`
 * elements shows both of its ends. Text that fits is one line. Never throws.
 *
 * @param open checks the memory and returns its elements.
 * @param width the columns of a line, of which `used` are used by the text before the elements.
 */
export function valuesText(type: TensorType, open: () => Elements, width: number = WIDTH, used: number = 0): string {
  try {
    const tree = elementTree(type, open())
    const line = inOneLine(tree)
    return used + line.length <= width ? line : inLines(tree, '', width)
  } catch (error) {
    return `(${error instanceof TenonError ? error.sentence : 'the elements cannot be read'})`
  }
}

function elementTree(type: TensorType, elements: Elements): Tree {
  const { shape } = type
  const steps = stepsOf(type)
  /** The elements and empty axes so far. */
  let shown = 0
  const along = (axis: number, start: number): Tree => {
    if (axis === shape.length) {
      shown++
      return elementText(elements.read(start))
    }
    const [size, step] = [shape[axis]!, steps[axis]!]
    if (size === 0) shown++
    const gap = size > 2 * EDGE ? size - 2 * EDGE : 0
    const items: Tree[] = []
    for (let i = 0; i < size; i++) {
      if (shown >= MAX_ELEMENTS) return [...items, moreText(size - i)]
      if (gap > 0 && i === EDGE) {
        items.push(moreText(gap))
        i += gap
      }
      items.push(along(axis + 1, start + i * step))
    }
    return items
  }
  return along(0, 0)
}

const moreText = (count: number): string => `... ${count} more`

function elementText(value: Element): string {
  if (typeof value !== 'object') return numberText(value)
  const [real, imaginary] = [numberText(value[0]), numberText(value[1])]
  return `${real}${imaginary.startsWith('-') ? '' : '+'}${imaginary}j`
}

const numberText = (value: number | bigint | boolean): string => (Object.is(value, -0) ? '-0' : String(value))

function inOneLine(tree: Tree): string {
  return typeof tree === 'string' ? tree : `[${tree.map(inOneLine).join(', ')}]`
}

/** Rows that fit are one line each; the elements of longer rows fill as many lines as they need. */
function inLines(tree: Tree, indent: string, width: number): string {
  const line = inOneLine(tree)
  if (typeof tree === 'string' || indent.length + line.length <= width) return line
  const inner = `${indent}  `
  const isRow = tree.every((item) => typeof item === 'string')
  const lines = isRow
    ? filled(tree as readonly string[], width - inner.length)
    : tree.map((item) => inLines(item, inner, width))
  return `[\n${lines.map((text) => inner + text).join(',\n')}\n${indent}]`
}

function filled(items: readonly string[], width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const item of items) {
    if (line !== '' && line.length + item.length + 3 > width) {
      lines.push(line)
      line = item
    } else line = line === '' ? item : `${line}, ${item}`
  }
  return [...lines, line]
}
