import { readFileSync } from 'node:fs'
import type { StringTensor } from '@tenon/tstring'
import { InputError } from './input-error.ts'

/** The forms of files with the text of strings: one string a line, or JSON. */
export const textForms = ['lines', 'json'] as const
export type TextForm = (typeof textForms)[number]

/** The strings of a file, and their shape. Lines are bytes, so that invalid UTF-8 stays unchanged. */
export interface FileStrings {
  readonly shape: readonly number[]
  readonly elements: readonly (string | Uint8Array)[]
}

/** Reads strings from a file, or from stdin (`-`). JSON is a string, or arrays of strings nested to any depth. @throws {InputError} */
export function readTexts(file: string, form: TextForm): FileStrings {
  const bytes = readFileSync(file === '-' ? 0 : file)
  const name = file === '-' ? 'stdin' : file
  if (form === 'lines') {
    const elements = linesOf(bytes)
    return { shape: [elements.length], elements }
  }
  let value: unknown
  try {
    value = JSON.parse(bytes.toString())
  } catch {
    throw new InputError(`${name} is not JSON`, 'Read it as lines of text.')
  }
  const shape = shapeOf(value)
  const elements: string[] = []
  const isNested = (one: unknown, axis: number): boolean => {
    if (axis === shape.length) return typeof one === 'string' && elements.push(one) > 0
    return Array.isArray(one) && one.length === shape[axis] && one.every((part) => isNested(part, axis + 1))
  }
  if (isNested(value, 0)) return { shape, elements }
  throw new InputError(`${name} must be a JSON array of strings, or of arrays of one length`)
}

/** The most arrays within each other. */
const DEEPEST = 64

/** The lengths of nested arrays, along their first elements. */
function shapeOf(value: unknown): number[] {
  const shape: number[] = []
  for (let at = value; Array.isArray(at) && shape.length < DEEPEST; at = at[0]) shape.push(at.length)
  return shape
}

/** Splits the file into the bytes of each line. A final newline does not begin a line. */
function linesOf(bytes: Buffer): Uint8Array[] {
  const lines: Uint8Array[] = []
  for (let start = 0; start < bytes.length;) {
    const end = bytes.indexOf(10, start)
    lines.push(bytes.subarray(start, end < 0 ? bytes.length : end))
    start = end < 0 ? bytes.length : end + 1
  }
  return lines
}

/** Writes each string as a line. @throws {InputError} if one contains a newline. */
export function joinLines(strings: StringTensor): Buffer {
  const newline = Buffer.from('\n')
  const lines = Array.from({ length: strings.length }, (_, i) => Buffer.from(strings.bytes(i)))
  const broken = lines.findIndex((line) => line.includes(10))
  if (broken >= 0)
    throw new InputError(`element ${broken} contains a newline, so it cannot be written as a line`, 'Write it as JSON.')
  return Buffer.concat(lines.flatMap((line) => [line, newline]))
}
