import { existsSync, writeFileSync } from 'node:fs'
import { tensorType, type NativeAllocator, type Parameter } from '@tenon/core'
import { nest, parameterText } from '@tenon/core/internal'
import { StringTensor } from '@tenon/tstring'
import { joinLines, readTexts, textForms, type TextForm } from './text-files.ts'
import { UsageError } from './usage-error.ts'

/** Splits `words.txt@lines` into the file and its form. */
function splitForm(text: string): { readonly file: string; readonly form: TextForm | undefined } {
  const form = textForms.find((one) => text.endsWith(`@${one}`))
  return { file: form === undefined ? text : text.slice(0, -form.length - 1), form }
}

/**
 * Reads an operand: `words.txt@lines`, `words.json@json`, `-@lines` for stdin, or a file of `tenon strings convert` with its description.
 *
 * @throws {UsageError} for another file. @throws {InputError} if it does not contain strings.
 */
export function readStringOperand(text: string, parameter: Parameter, allocator?: NativeAllocator): StringTensor {
  const layout = parameter.stringLayout!
  const placed = allocator === undefined ? {} : { allocator }
  const { file, form } = splitForm(text)
  if (form !== undefined) {
    const { shape, elements } = readTexts(file, form)
    // A scalar is a file of one line.
    const isScalar = form === 'lines' && parameter.shape?.length === 0 && elements.length === 1
    return StringTensor.from(elements, { layout, shape: isScalar ? [] : shape, storage: 'packed', ...placed })
  }
  if (!existsSync(`${file}.json`)) {
    throw new UsageError(
      `--arg ${text}: ${parameter.name} is ${parameterText(parameter)}, and the form of the file is missing`,
      `Write ${file}@lines for lines of text, or ${file}@json.`,
    )
  }
  using strings = StringTensor.open(file)
  return strings.to(layout, { storage: 'packed', ...placed })
}

/** A string result, as the command prints it. */
export interface StringResult {
  readonly type: string
  readonly text: string
  readonly values: unknown
}

/** Returns a result as the command prints it. */
export function showStrings(strings: StringTensor): StringResult {
  const values = nestedTexts(strings)
  return { type: typeOf(strings), text: JSON.stringify(values, undefined, strings.shape.length > 1 ? 1 : 0), values }
}

/** The type of a string tensor as signatures show it. */
export const typeOf = ({ layout, shape }: StringTensor): string => `string<${layout}>[${shape.join(', ')}]`

function nestedTexts(strings: StringTensor): unknown {
  return nest(tensorType('uint8', strings.shape), (index) => strings.get(index))
}

/** Writes a result to `words.txt@lines`, `words.json@json`, or a file with its description. @throws {InputError} */
export function writeStrings(path: string, strings: StringTensor): void {
  const { file, form } = splitForm(path)
  if (form === undefined) strings.export(file)
  else writeFileSync(file, form === 'lines' ? joinLines(strings) : `${JSON.stringify(nestedTexts(strings))}\n`)
}
