import { existsSync, writeFileSync } from 'node:fs'
import { StringTensor, type Abi, type Layout } from '@tenon/tstring'
import type { Definition, Values } from './definition.ts'
import { defineSubCommand, type SubCommand } from './sub-command.ts'
import { alignColumns, printable, printBytes, printData, printTalk } from './terminal.ts'
import { joinLines, readTexts, textForms } from './text-files.ts'
import { UsageError } from './usage-error.ts'

const layouts = ['tf', 'rfc16', 'rfc24', 'legacy', 'tflite'] as const
const abis = ['le64', 'be64', 'le32', 'be32'] as const

const args = {
  action: {
    type: 'positional',
    required: true,
    options: ['dump', 'convert'],
    description: 'dump: list the strings; convert: write them in another form',
  },
  file: { type: 'positional', required: true, description: 'the file with the strings' },
  from: {
    type: 'enum',
    options: [...layouts, ...textForms],
    valueHint: 'form',
    description: 'its form; required unless <file>.json has it',
  },
  abi: {
    type: 'enum',
    options: [...abis],
    valueHint: 'abi',
    description: 'the machine that wrote it; the default is this one',
  },
  shape: {
    type: 'string',
    valueHint: '2,3',
    description: 'the size along each axis; needed for tf, rfc16, rfc24 and legacy',
  },
  lenient: { type: 'boolean', description: "take what TensorFlow's own readers take" },
  to: {
    type: 'enum',
    options: [...layouts, ...textForms],
    valueHint: 'form',
    description: 'convert: the form to write',
  },
  'to-abi': { type: 'enum', options: [...abis], valueHint: 'abi', description: 'convert: the machine to write for' },
  output: {
    type: 'string',
    valueHint: 'file',
    description: 'convert: the file to write; without it, lines and json are printed',
  },
  json: { type: 'boolean', description: 'dump: print one JSON document' },
} as const satisfies Definition

/** The command `tenon strings`, which reads and writes string tensors in files. */
export const stringsCommand: SubCommand = defineSubCommand({
  meta: { name: 'strings', description: 'List and convert string tensors: TensorFlow, TFLite, lines of text, JSON' },
  args,
  run({ action, file, json, to, output, 'to-abi': toAbi, ...options }) {
    if (action !== 'dump' && action !== 'convert') {
      throw new UsageError(`the action must be dump or convert, got ${action}`)
    }
    if (action === 'convert' && to === undefined)
      throw new UsageError('--to is missing', 'Pass the form to write: --to tflite.')
    using strings = read(file, options)
    if (action === 'dump') dump(strings, json)
    else convert(strings, to!, toAbi, output)
  },
})

type ReadOptions = Pick<Values<typeof args>, 'from' | 'abi' | 'shape' | 'lenient'>

function read(file: string, { from, abi, shape, lenient }: ReadOptions): StringTensor {
  if (from === 'lines' || from === 'json') {
    const texts = readTexts(file, from)
    return StringTensor.from(texts.elements, { shape: texts.shape, ...shapeOption(shape) })
  }
  if (from === undefined && !existsSync(`${file}.json`))
    throw new UsageError(
      `--from is missing, because ${file}.json does not exist`,
      `Pass the form of ${file}: --from tflite.`,
    )
  if (from !== undefined && from !== 'tflite' && shape === undefined)
    throw new UsageError(
      '--shape is missing',
      `Pass the size along each axis, which ${from} does not contain: --shape 2,3.`,
    )
  return StringTensor.open(file, {
    ...(from !== undefined && { layout: from }),
    ...(abi !== undefined && { abi }),
    ...shapeOption(shape),
    validate: lenient ? 'lenient' : 'strict',
  })
}

function shapeOption(shape: string | undefined): { shape?: number[] } {
  if (shape === undefined) return {}
  const sizes = shape === '' ? [] : shape.split(',').map(Number)
  if (sizes.every((size) => Number.isSafeInteger(size) && size >= 0)) return { shape: sizes }
  throw new UsageError(`--shape must be sizes separated by commas, such as 2,3, got ${shape}`)
}

function dump(strings: StringTensor, json: boolean): void {
  const { layout, abi, shape } = strings
  if (json) {
    const elements = Array.from({ length: strings.length }, (_, i) => describe(strings, i))
    printData(JSON.stringify({ layout, abi, shape, elements }, null, 2))
    return
  }
  printTalk(`${layout} (${abi}), shape [${shape.join(', ')}]`)
  const rows = Array.from({ length: strings.length }, (_, i) => {
    const { type, byteLength, text } = describe(strings, i)
    return [String(i), type ?? '-', String(byteLength), JSON.stringify(text)]
  })
  for (const line of alignColumns(rows)) printData(printable(line))
}

function describe(strings: StringTensor, i: number): { type: string | undefined; byteLength: number; text: string } {
  return { type: strings.type(i), byteLength: strings.byteLength(i), text: strings.get(i) }
}

function convert(strings: StringTensor, to: string, abi: Abi | undefined, output: string | undefined): void {
  if (to === 'lines' || to === 'json') {
    const bytes =
      to === 'json' ? Buffer.from(`${JSON.stringify(strings.toArray({ invalid: 'throw' }))}\n`) : joinLines(strings)
    if (output === undefined) printBytes(bytes)
    else writeFileSync(output, bytes)
    return
  }
  if (output === undefined) throw new UsageError('--output is missing', 'Pass the file to write: --output strings.bin.')
  strings.to(to as Layout, { storage: 'packed', ...(abi !== undefined && { abi }) }).export(output)
}
