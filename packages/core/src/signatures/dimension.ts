import type { AxisGroup, Dimension } from './kernel-signature.ts'
import { formatExpression } from './size-expression.ts'

/** Whether a part of a shape is a group of axes. */
export function isGroup(dimension: Dimension): dimension is AxisGroup {
  return typeof dimension === 'object' && dimension !== null && 'group' in dimension
}

/** Returns the axes of a shape: `..., k, n`. */
export function formatShape(shape: readonly Dimension[] | undefined): string {
  if (shape === undefined) return '...'
  return shape
    .map((size) => {
      if (size === null) return '?'
      return isGroup(size) ? `...${size.group}` : formatExpression(size)
    })
    .join(', ')
}
