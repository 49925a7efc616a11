import { readFileSync, statSync } from 'node:fs'
import type { NativeAllocator, Tensor } from '@tenon/core'
import type { ParameterLayout } from '@tenon/core/internal'
import { decodeNpy, readNpy, NpyFormatError } from '@tenon/weights'

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

/** Whether a path is stdin, which is `-`, or a pipe, such as `<(program)` of a shell. */
const isStream = (path: string): boolean => path === '-' || statSync(path, { throwIfNoEntry: false })?.isFIFO() === true

/** Reads an array to the end of stdin or of a pipe. @throws {NpyFormatError} that names the stream */
function readStream(path: string, allocator: NativeAllocator | undefined): Tensor {
  const [bytes, name] = path === '-' ? [readFileSync(0), 'stdin'] : [readFileSync(path), path]
  try {
    return decodeNpy(bytes, allocator)
  } catch (error) {
    if (!(error instanceof NpyFormatError)) throw error
    throw new NpyFormatError(`cannot read ${name}: ${error.sentence}`, { hint: error.hint, details: error.details })
  }
}

/**
 * Reads an operand from a `.npy` file, from stdin (`-`) or from a pipe, row-major unless the call has a layout for it.
 *
 * @param allocator of its memory; by default the garbage collector frees it
 * @throws the errors of `readNpy`
 */
export function readOperand(path: string, layout: ParameterLayout | undefined, allocator?: NativeAllocator): Tensor {
  const read = isStream(path) ? readStream(path, allocator) : readNpy(path, allocator)
  return layout === undefined ? read.contiguous() : read
}
