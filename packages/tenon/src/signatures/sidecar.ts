import { closeSync, constants, copyFileSync, existsSync, fstatSync, openSync, readSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import type { KernelConvention } from '@tenon/core'
import { describe, didYouMean, KERNEL_CONVENTIONS } from '@tenon/core/internal'
import { SidecarError } from './sidecar-error.ts'

/** A kernel as the sidecar of its library describes it. */
export interface SidecarKernel {
  readonly name: string
  /** The text of the signature. */
  readonly signature: string
  /** The exported symbol, if it is not the name. */
  readonly symbol: string | undefined
  /** Whether the library registers the handler itself, under the name. */
  readonly isRegistered: boolean
  /** The platform for which the handler is registered. */
  readonly platform: string | undefined
  /** By default, the convention that the library marks, and otherwise `typed`. */
  readonly convention: KernelConvention | undefined
}

/** The definition of an operation, in the notation of TensorFlow. */
export interface SidecarDefinition {
  readonly name: string
  readonly definition: Readonly<Record<(typeof DEFINITION_KEYS)[number], readonly string[]>>
}

const DEFINITION_KEYS = ['inputs', 'outputs', 'attrs'] as const

/** The kernels and definitions that a sidecar describes. */
export interface Sidecar {
  readonly kernels: readonly SidecarKernel[]
  readonly definitions: readonly SidecarDefinition[]
}

const EMPTY: Sidecar = { kernels: [], definitions: [] }

/** A sidecar of 2000 kernels with long texts has about 1 MiB. */
const MAX_SIDECAR_BYTES = 4 * 1024 * 1024
const HASH_BLOCK_BYTES = 1024 * 1024

/**
 * The path of the sidecar: `libkernels.tenon.json` for `libkernels.so`, `libkernels.dylib` and `kernels.dll`, and also for
 * `libkernels.so.1.2`.
 */
export function sidecarPath(library: string): string {
  const name = basename(library)
  const stem = name.replace(/\.so(?:\.\d+)+$/, '')
  return join(dirname(library), `${stem === name ? basename(name, extname(name)) : stem}.tenon.json`)
}

/** Copies the sidecar of a library, if it has one, to the place that belongs to a copy of the library. */
export function copySidecar(library: string, copy: string): void {
  if (existsSync(sidecarPath(library))) copyFileSync(sidecarPath(library), sidecarPath(copy))
}

/**
 * Reads the sidecar of a library. Nothing is loaded.
 *
 * @returns the kernels and operations in the order of the file, or none if the library has no sidecar
 * @throws {SidecarError} if the file cannot be read, is not valid, has an unknown key, or belongs to another library; the
 * message names the file
 */
export function readSidecar(library: string): Sidecar {
  const path = sidecarPath(library)
  try {
    const bytes = readFile(path)
    return bytes === undefined ? EMPTY : parseSidecar(bytes, () => sha256Of(library))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const reason = error instanceof SidecarError ? error.sentence : typeof code === 'string' ? code : undefined
    if (reason === undefined) throw error
    const hint = error instanceof SidecarError ? error.hint : undefined
    throw new SidecarError(`cannot read ${path}: ${reason}`, { hint, details: { path, reason }, cause: error })
  }
}

/** @returns undefined if the file does not exist */
function readFile(path: string): Buffer | undefined {
  const file = open(path)
  if (file === undefined) return undefined
  try {
    const stats = fstatSync(file)
    if (!stats.isFile())
      throw new SidecarError(`it must be a file, got ${stats.isDirectory() ? 'a directory' : 'a special file'}`)
    const bytes = Buffer.alloc(Math.min(stats.size, MAX_SIDECAR_BYTES) + 1)
    const length = readUpTo(file, bytes)
    if (length > MAX_SIDECAR_BYTES) throw new SidecarError(`it must have at most ${MAX_SIDECAR_BYTES} bytes, got more`)
    return bytes.subarray(0, length)
  } finally {
    closeSync(file)
  }
}

function open(path: string): number | undefined {
  try {
    // Opening a pipe would wait for its writer.
    return openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function readUpTo(file: number, bytes: Buffer): number {
  let done = 0
  for (let count = 1; count > 0 && done < bytes.length; done += count) {
    count = readSync(file, bytes, done, bytes.length - done, null)
  }
  return done
}

/** Returns the SHA-256 of a file, in hexadecimal. */
export function sha256Of(path: string): string {
  // Loaded here, because few sidecars have a digest, and loading takes 4 ms.
  const { createHash } = process.getBuiltinModule('node:crypto')
  const hash = createHash('sha256')
  const file = openSync(path, 'r')
  try {
    const block = Buffer.alloc(HASH_BLOCK_BYTES)
    for (let count = readUpTo(file, block); count > 0; count = readUpTo(file, block))
      hash.update(block.subarray(0, count))
  } finally {
    closeSync(file)
  }
  return hash.digest('hex')
}

type JsonObject = Readonly<Record<string, unknown>>

/** @param libraryHash the SHA-256 of the library, in hexadecimal; called only if the sidecar states one */
export function parseSidecar(bytes: Uint8Array, libraryHash: () => string): Sidecar {
  const file = checkObject(parseJson(bytes), 'the file', ['tenon', 'sha256', 'kernels'])
  if (file['tenon'] !== 1)
    throw new SidecarError(`tenon must be 1, the version of the format, got ${describe(file['tenon'])}`)
  checkHash(file['sha256'], libraryHash)
  const entries = Object.entries(checkObject(file['kernels'], 'kernels'))
  const isDefinition = (value: unknown): boolean => typeof value === 'object' && value !== null && 'definition' in value
  return {
    kernels: entries.filter(([, value]) => !isDefinition(value)).map(([name, value]) => parseKernel(name, value)),
    definitions: entries
      .filter(([, value]) => isDefinition(value))
      .map(([name, value]) => parseDefinition(name, value)),
  }
}

function parseDefinition(name: string, value: unknown): SidecarDefinition {
  const at = placeOf(name)
  const definition = checkObject(
    checkObject(value, at, ['definition'])['definition'],
    `${at}.definition`,
    DEFINITION_KEYS,
  )
  const listOf = (key: string): readonly string[] => {
    const list = definition[key] ?? []
    if (Array.isArray(list) && list.every((text) => typeof text === 'string')) return list
    throw new SidecarError(`${at}.definition.${key} must be an array of texts, got ${describe(list)}`)
  }
  return { name, definition: { inputs: listOf('inputs'), outputs: listOf('outputs'), attrs: listOf('attrs') } }
}

/** Returns the place of a kernel in messages. @throws {SidecarError} if the name cannot be one */
function placeOf(name: string): string {
  if (name !== '' && !name.includes('\0')) return `kernels[${JSON.stringify(name)}]`
  throw new SidecarError('the name of a kernel must not be empty or have NUL characters')
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (cause) {
    throw new SidecarError(`it must be JSON in UTF-8: ${(cause as Error).message}`, { cause })
  }
}

function checkHash(expected: unknown, libraryHash: () => string): void {
  if (expected === undefined) return
  if (typeof expected !== 'string' || !/^[\da-f]{64}$/i.test(expected)) {
    throw new SidecarError(`sha256 must be 64 hexadecimal digits, got ${describe(expected)}`)
  }
  const actual = libraryHash()
  if (actual === expected.toLowerCase()) return
  throw new SidecarError(`sha256 must be that of the library, ${actual}, got ${expected}`, {
    hint: 'The file describes another build of the library: write it again, or remove it.',
  })
}

function parseKernel(name: string, value: unknown): SidecarKernel {
  const at = placeOf(name)
  if (typeof value === 'string') {
    return {
      name,
      signature: value,
      symbol: undefined,
      isRegistered: false,
      platform: undefined,
      convention: undefined,
    }
  }
  const kernel = checkObject(value, at, ['signature', 'symbol', 'registered', 'platform', 'convention'])
  const signature = optionalText(kernel, 'signature', at)
  if (signature === undefined) throw new SidecarError(`${at} must have a signature`)
  const symbol = optionalText(kernel, 'symbol', at)
  const platform = optionalText(kernel, 'platform', at)
  const convention = optionalText(kernel, 'convention', at)
  const { registered = false } = kernel
  if (typeof registered !== 'boolean')
    throw new SidecarError(`${at}.registered must be true or false, got ${describe(registered)}`)
  if (convention !== undefined && !KERNEL_CONVENTIONS.some((known) => known === convention)) {
    throw new SidecarError(
      `${at}.convention must be one of ${KERNEL_CONVENTIONS.join(', ')}, got ${describe(convention)}`,
    )
  }
  if (registered && symbol !== undefined) throw new SidecarError(`${at} must have a symbol or be registered, got both`)
  if (registered && convention !== undefined && convention !== 'typed') {
    throw new SidecarError(`${at}.convention must be typed for a registered handler, got ${convention}`)
  }
  if (!registered && platform !== undefined) throw new SidecarError(`${at}.platform requires registered: true`)
  return {
    name,
    signature,
    symbol,
    isRegistered: registered,
    platform,
    convention: convention as KernelConvention | undefined,
  }
}

function optionalText(object: JsonObject, key: string, at: string): string | undefined {
  const value = object[key]
  if (value === undefined || (typeof value === 'string' && value !== '')) return value
  throw new SidecarError(`${at}.${key} must be a text, got ${describe(value)}`)
}

/** @param keys the allowed keys; any without them */
function checkObject(value: unknown, at: string, keys?: readonly string[]): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new SidecarError(`${at} must be an object, got ${describe(value)}`)
  }
  const unknown = keys && Object.keys(value).find((key) => !keys.includes(key))
  if (unknown === undefined) return value as JsonObject
  throw new SidecarError(`${at} has the unknown key ${JSON.stringify(unknown)}`, { hint: didYouMean(unknown, keys!) })
}
