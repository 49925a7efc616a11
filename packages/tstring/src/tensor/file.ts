import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { ArgumentError } from '@tenon/core'
import { checkName, checkOptions, STRING_LAYOUTS } from '@tenon/core/internal'
import { checkOneOf } from '../errors/arguments.ts'
import { MalformedTensorError } from '../errors/tstring-errors.ts'
import { abis, type Abi } from '../layouts/abi.ts'
import type { Layout } from '../layouts/layout.ts'
import { writeBytes } from '../memory/file-bytes.ts'
import { openFile } from '../memory/mapped-file.ts'
import { checkSegmentOptions, partsOverCopy, segmentOptions, type OfSegmentOptions } from './of-segment.ts'
import type { Parts } from './parts.ts'

/** Options of `StringTensor.open`. */
export interface OpenOptions extends Partial<Omit<OfSegmentOptions, 'writable'>> {
  /**
   * With `map` (the default), pages of the file are loaded when they are touched. With `read`, the whole file is read into
   * memory at once: choose it for files that others may change or cut while they are used. Systems that cannot map files
   * read them.
   */
  readonly mode?: 'map' | 'read'
}

/** The description that `export` writes beside the tensor's bytes, which contain neither shape nor layout. */
interface Sidecar {
  readonly format: 'tenon-string-tensor'
  readonly version: 1
  readonly layout: Layout
  readonly abi: Abi
  readonly shape: readonly number[]
}

const sidecarPath = (path: string): string => `${path}.json`

const openOptions = ['mode', ...segmentOptions.filter((name) => name !== 'writable')] as const

export function partsOfFile(path: string, options: OpenOptions | undefined): Parts {
  checkName(path, 'path')
  const { mode = 'map', layout, abi, shape, validate, budget } = checkOptions(options, openOptions)
  checkOneOf(mode, ['map', 'read'], 'mode')
  const { segment, lifetime } = openFile(path, mode)
  try {
    const sidecar = layout === undefined ? readSidecar(path) : { layout, abi: undefined, shape: undefined }
    const described = { layout: sidecar.layout, abi: abi ?? sidecar.abi, shape: shape ?? sidecar.shape }
    const parts = partsOverCopy(segment, checkSegmentOptions({ ...described, validate, budget }))
    return lifetime === undefined ? parts : { ...parts, close: () => lifetime.close() }
  } catch (error) {
    lifetime?.close()
    if (!(error instanceof MalformedTensorError)) throw error
    throw new MalformedTensorError(`${path}: ${error.sentence}`, { details: { ...error.details, path } })
  }
}

function readSidecar(tensor: string): Pick<Sidecar, 'layout' | 'abi' | 'shape'> {
  const path = sidecarPath(tensor)
  if (!existsSync(path)) {
    throw new ArgumentError(`layout must be given for ${tensor}, because ${path} does not exist`, {
      hint: 'Pass { layout, shape }, or write the file with export(), which describes it.',
      details: { name: 'layout', expected: STRING_LAYOUTS, received: 'undefined', path },
    })
  }
  const { format, version, layout, abi, shape } = parseSidecar(path)
  if (format !== 'tenon-string-tensor' || version !== 1) {
    throw sidecarError(path, 'have the format tenon-string-tensor in version 1')
  }
  if (!STRING_LAYOUTS.includes(layout!) || !abis.includes(abi!) || !Array.isArray(shape)) {
    throw sidecarError(path, 'have a layout, an abi and a shape')
  }
  return { layout: layout!, abi: abi!, shape }
}

function parseSidecar(path: string): Partial<Sidecar> {
  const text = readFileSync(path, 'utf8')
  try {
    return (JSON.parse(text) as Partial<Sidecar> | null) ?? {}
  } catch (cause) {
    throw sidecarError(path, 'describe a string tensor as JSON', { cause })
  }
}

function sidecarError(path: string, expected: string, options?: { readonly cause: unknown }): ArgumentError {
  return new ArgumentError(`${path} must ${expected}`, { ...options, details: { expected, path } })
}

/** Whether the memory of a tensor has all of its strings, and nothing else, so that it can be written as it is. */
export function isWhole({ storage, image, isWindow = false, isLoose = false }: Parts): boolean {
  const hasPointers = image.regions !== undefined && image.regions.segments.length > 0
  return storage === 'packed' && !hasPointers && !isWindow && !isLoose
}

/** Writes a packed tensor, and beside a path also its description. */
export function writeTensor({ image, segment, shape }: Parts, target: string | number): void {
  const bytes = segment.block.bytes.subarray(segment.base, segment.base + segment.byteSize)
  if (typeof target === 'number') {
    writeBytes(target, bytes)
    return
  }
  // The bytes may be mapped from this file, so it is cut only after they are written.
  const descriptor = openSync(checkName(target, 'path'), constants.O_WRONLY | constants.O_CREAT)
  try {
    writeBytes(descriptor, bytes)
    if (fstatSync(descriptor).isFile()) ftruncateSync(descriptor, bytes.length)
  } finally {
    closeSync(descriptor)
  }
  const sidecar: Sidecar = { format: 'tenon-string-tensor', version: 1, layout: image.layout, abi: image.abi, shape }
  writeFileSync(sidecarPath(target), `${JSON.stringify(sidecar)}\n`)
}
