import { existsSync, readFileSync, writeFileSync, writeSync } from 'node:fs'
import { ArgumentError } from '@tenon/core'
import { checkName, describe } from '@tenon/core/internal'
import { abis, type Abi } from '../layouts/abi.ts'
import { layouts, type Layout } from '../layouts/layout.ts'
import { openFile } from '../memory/mapped-file.ts'
import { partsOverCopy, type OverOptions } from './over.ts'
import type { Parts } from './parts.ts'

/** How a file is read as a string tensor. */
export interface MapOptions extends Partial<Omit<OverOptions, 'writable'>> {
  /**
   * `map` (the default): pages come from the file when they are touched. `read`: the file is read into memory at once,
   * for files that others may change or cut while they are used. Where files can't be mapped, they are read.
   */
  readonly mode?: 'map' | 'read'
}

/** What `export` writes beside the tensor's bytes, which tell neither shape nor layout. */
interface Sidecar {
  readonly format: 'tenon-string-tensor'
  readonly version: 1
  readonly layout: Layout
  readonly abi: Abi
  readonly shape: readonly number[]
}

const sidecarPath = (path: string): string => `${path}.json`

/** The parts of `StringTensor.map`. */
export function partsOfFile(path: string, { mode = 'map', ...options }: MapOptions): Parts {
  checkName(path, 'path')
  if (mode !== 'map' && mode !== 'read') throw new ArgumentError(`mode must be 'map' or 'read', got ${describe(mode)}`)
  const { layout, ...rest } = options.layout === undefined ? { ...readSidecar(path), ...options } : options
  const { segment, lifetime } = openFile(path, mode)
  try {
    const parts = partsOverCopy(segment, { layout: layout!, ...rest })
    return lifetime === undefined ? parts : { ...parts, close: () => lifetime[Symbol.dispose]() }
  } catch (error) {
    lifetime?.close()
    throw error
  }
}

function readSidecar(path: string): Pick<Sidecar, 'layout' | 'abi' | 'shape'> {
  const file = sidecarPath(path)
  if (!existsSync(file)) {
    throw new ArgumentError(`a layout must be given for ${path}: there is no ${file} that tells it`, {
      hint: "pass { layout, shape }, or write the file with StringTensor's export(), which describes it.",
    })
  }
  const text = readFileSync(file, 'utf8')
  let value: Partial<Sidecar>
  try {
    value = JSON.parse(text) as Partial<Sidecar>
  } catch (cause) {
    throw new ArgumentError(`${file} must describe a string tensor as JSON`, { cause })
  }
  const { format, version, layout, abi, shape } = value ?? {}
  if (format !== 'tenon-string-tensor' || version !== 1) {
    throw new ArgumentError(`${file} must have the format tenon-string-tensor in version 1`)
  }
  if (!layouts.includes(layout!) || !abis.includes(abi!) || !Array.isArray(shape)) {
    throw new ArgumentError(`${file} must have a layout, an abi and a shape`)
  }
  return { layout: layout!, abi: abi!, shape }
}

/** Writes a packed tensor; beside a path also what describes it. */
export function writeTensor({ image, segment, shape }: Parts, target: string | number): void {
  const bytes = segment.block.bytes.subarray(segment.base, segment.base + segment.byteSize)
  if (typeof target === 'number') {
    for (let at = 0; at < bytes.length;) at += writeSync(target, bytes, at)
    return
  }
  writeFileSync(checkName(target, 'path'), bytes)
  const sidecar: Sidecar = { format: 'tenon-string-tensor', version: 1, layout: image.layout, abi: image.abi, shape }
  writeFileSync(sidecarPath(target), `${JSON.stringify(sidecar)}\n`)
}
