import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { LoadError } from '@tenon/core'
import type { ResourceScope } from '@tenon/scope'
import { WeightsFile } from '../weights-file.ts'
import { damaged } from '../weights-format-error.ts'

/** The largest index in bytes. */
const MOST_INDEX = 100_000_000

/** Opens the files of an index `{ "weight_map": { "name": "file" } }`, which are beside it. @throws as `openSafetensors()` */
export function openShards(
  path: string,
  scope: ResourceScope | undefined,
  open: (path: string, scope: ResourceScope | undefined) => WeightsFile<string>,
): WeightsFile<string> {
  const index = readIndex(path)
  const error = (reason: string): Error => damaged({ path, format: 'an index of safetensors files' }, 0, reason)
  const places = new Map<string, string>()
  for (const [name, file] of Object.entries(index)) {
    if (typeof file !== 'string' || file === '' || file === '..' || basename(file) !== file || file.includes('\0')) {
      throw error(
        `the file of ${JSON.stringify(name)} should be a name without a folder, but is ${JSON.stringify(file)}`,
      )
    }
    places.set(name, file)
  }
  const files = new Map<string, WeightsFile<string>>()
  for (const file of new Set(places.values())) files.set(file, open(join(dirname(path), file), scope))
  for (const [name, file] of places) {
    if (!files.get(file)!.has(name)) throw error(`the file ${file} does not have the tensor ${JSON.stringify(name)}`)
  }
  const metadata = new Map<string, string>()
  for (const file of files.values()) for (const [key, value] of file.metadata) metadata.set(key, value)
  const fileOf = (name: string): WeightsFile<string> => files.get(places.get(name)!)!
  return new WeightsFile(
    { path, format: 'safetensors', names: [...places.keys()], metadata },
    {
      entry: (name) => fileOf(name).entry(name),
      tensor: (name, allocator) => fileOf(name).tensor(name, allocator === undefined ? {} : { allocator }),
    },
  )
}

function readIndex(path: string): object {
  const wrong = (reason: string, cause?: unknown): Error =>
    damaged({ path, format: 'an index of safetensors files' }, 0, reason, { cause })
  let text: string
  try {
    const descriptor = openSync(path, 'r')
    try {
      const info = fstatSync(descriptor)
      if (!info.isFile() || info.size > MOST_INDEX) throw wrong(`it is not a file of at most ${MOST_INDEX} bytes`)
      text = readFileSync(descriptor, 'utf8')
    } finally {
      closeSync(descriptor)
    }
  } catch (cause) {
    if (!(cause instanceof Error) || !('syscall' in cause)) throw cause
    throw new LoadError(`the file ${path} could not be opened: ${cause.message}`, { cause, details: { path } })
  }
  let index: unknown
  try {
    index = JSON.parse(text)
  } catch (cause) {
    throw wrong('it is not JSON', cause)
  }
  const map = typeof index === 'object' && index !== null ? (index as { weight_map?: unknown }).weight_map : undefined
  if (typeof map === 'object' && map !== null && !Array.isArray(map)) return map
  throw wrong('it should be an object with a weight_map')
}
