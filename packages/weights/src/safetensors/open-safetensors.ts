import type { ResourceScope } from '@tenon/scope'
import { filePath } from '@tenon/core/internal'
import { openMapped } from '../files/file-bytes.ts'
import { entryTensor } from '../files/weights-entry.ts'
import { WeightsFile } from '../weights-file.ts'
import { readHeader } from './read-header.ts'
import { openShards } from './shards.ts'

/**
 * Opens a safetensors file, or all files of a model by its `*.safetensors.index.json`. The header is read and checked, and the tensors are over the
 * mapped file.
 *
 * @param path of the file, or its `file:` URL.
 * @param scope unmaps the file when it is closed. Default: the garbage collector unmaps the file.
 * @throws {WeightsFormatError} if the header is not valid, or tensors overlap, leave holes, or do not end with the file.
 * @throws {LoadError} if the file cannot be opened. @throws {ArgumentError | ScopeClosedError} if the path or the scope is not valid.
 * @throws {UnsupportedError} on Windows.
 * @example
 * const file = openSafetensors('model.safetensors')
 * file.tensor('lm_head.weight').shape
 */
export function openSafetensors(path: string | URL, scope?: ResourceScope): WeightsFile<string> {
  const name = filePath(path)
  return name.endsWith('.json') ? openShards(name, scope, openOne) : openOne(name, scope)
}

function openOne(name: string, scope: ResourceScope | undefined): WeightsFile<string> {
  const { path, contents, segment } = openMapped(name, 'safetensors', scope, readHeader)
  const { entries, metadata } = contents
  return new WeightsFile(
    { path, format: 'safetensors', names: [...entries.keys()], metadata },
    {
      entry: (tensor) => entries.get(tensor)!,
      tensor: (tensor, allocator) => entryTensor(entries.get(tensor)!, segment, allocator),
    },
  )
}
