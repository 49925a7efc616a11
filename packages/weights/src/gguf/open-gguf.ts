import type { ResourceScope } from '@tenon/scope'
import { openMapped } from '../files/file-bytes.ts'
import { entryTensor } from '../files/weights-entry.ts'
import { WeightsFile } from '../weights-file.ts'
import { readGguf } from './read-gguf.ts'
import type { GgufValue } from './read-values.ts'

/**
 * Opens a GGUF file of version 2 or 3. The header is read and checked, and the tensors are over the mapped file. Shapes are row-major, so their sizes
 * are in reverse order of the file. Types that are stored in blocks, such as `Q4_K`, become uint8 tensors of their blocks.
 *
 * @param path of the file, or its `file:` URL.
 * @param scope unmaps the file when it is closed. Default: the garbage collector unmaps the file.
 * @throws {WeightsFormatError} if the header is not valid, or tensors overlap or do not lie within the file.
 * @throws {LoadError} if the file cannot be opened. @throws {ArgumentError | ScopeClosedError} if the path or the scope is not valid.
 * @throws {UnsupportedError} on Windows.
 * @example
 * const file = openGguf('model.gguf')
 * file.metadata.get('general.architecture')
 */
export function openGguf(path: string | URL, scope?: ResourceScope): WeightsFile<GgufValue> {
  const { path: name, contents, segment } = openMapped(path, 'GGUF', scope, readGguf)
  const { entries, metadata } = contents
  return new WeightsFile(
    { path: name, format: 'GGUF', names: [...entries.keys()], metadata },
    {
      entry: (tensor) => entries.get(tensor)!,
      tensor: (tensor, allocator) => entryTensor(entries.get(tensor)!, segment, allocator),
    },
  )
}
