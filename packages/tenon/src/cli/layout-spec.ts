import type { NativeAllocator, Tensor } from '@tenon/core'
import type { ParameterLayout } from '@tenon/core/internal'
import { readNpy } from '../npy/npy-file.ts'

/** A text of the command line, and the layout that was written behind it. */
export interface LayoutSpec {
  readonly text: string
  readonly layout: ParameterLayout | undefined
}

/** Splits `a.npy@cm` or `f32[2,3]@1,0` into the text and the layout. */
export function splitLayout(text: string): LayoutSpec {
  const [, before, layout] = /^(.*)@(cm|\d+(?:,\d+)*)$/s.exec(text) ?? []
  if (layout === undefined) return { text, layout: undefined }
  return { text: before!, layout: layout === 'cm' ? layout : layout.split(',').map(Number) }
}

/**
 * Reads an operand, row-major unless the call has a layout for it.
 *
 * @param allocator of its memory; by default the garbage collector frees it
 * @throws the errors of `readNpy`
 */
export function readOperand(path: string, layout: ParameterLayout | undefined, allocator?: NativeAllocator): Tensor {
  const read = readNpy(path, allocator)
  return layout === undefined ? read.contiguous() : read
}
