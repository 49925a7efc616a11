import type { CommandDef } from 'citty'
import { checkArguments, type Definition } from './arguments.ts'
import { conventions } from '../marked-calls.ts'
import { callKernel, type CallRequest, type CallReport } from './call-kernel.ts'
import { defineSubCommand } from './define-sub-command.ts'
import { formatTensor } from './format-tensor.ts'
import { jsonValues } from './json-values.ts'
import { parseAttribute } from './attribute-spec.ts'
import { parseRepeat } from './parse-repeat.ts'
import { parseResultSpec } from './tensor-spec.ts'
import { printData, printTalk } from './terminal.ts'
import { formatTiming } from './timing.ts'
import { UsageError } from './usage-error.ts'

const args = {
  library: { type: 'positional', required: true, description: 'the shared library' },
  symbol: { type: 'positional', required: true, description: 'the name of the custom call in it' },
  arg: {
    type: 'string',
    repeatable: true,
    valueHint: 'x.npy',
    description: 'an operand, read from a .npy file; repeatable, in order',
  },
  attr: {
    type: 'string',
    repeatable: true,
    valueHint: 'name=f32:1e-5',
    description: 'an attribute with its type: f32:1.5, s64:3, pred:true, str:text, s32[]:1,2,3; repeatable',
  },
  result: {
    type: 'string',
    repeatable: true,
    valueHint: 'f32[2,4]:y.npy',
    description: 'a result: its type, shape and .npy file; without a file it is printed; repeatable, in order',
  },
  opaque: { type: 'string', valueHint: 'text', description: 'the opaque string of a host-unified call' },
  abi: { type: 'enum', options: conventions, description: 'how it is called, if the library does not say' },
  'allow-newer-api': {
    type: 'boolean',
    description: 'call a typed handler built for a newer XLA FFI than is known here',
  },
  repeat: { type: 'string', valueHint: 'n', description: 'run it n times more and print how long a run takes' },
  json: { type: 'boolean', description: 'print one JSON document' },
} as const satisfies Definition

/** `tenon call`: runs a kernel on arrays from files. */
export const callCommand: CommandDef = defineSubCommand({
  meta: { name: 'call', description: 'Call a custom call of a library with arrays from .npy files' },
  args,
  run({ rawArgs, args: { library, symbol, abi, opaque, repeat, json, 'allow-newer-api': allowNewerApi = false } }) {
    const values = checkArguments(rawArgs, args)
    const request: CallRequest = {
      library,
      symbol,
      operands: values.get('arg') ?? [],
      attributes: attributesOf(values.get('attr') ?? []),
      results: (values.get('result') ?? []).map(parseResultSpec),
      convention: abi,
      opaque,
      repeat: repeat === undefined ? 0 : parseRepeat(repeat),
      allowNewerApi,
    }
    const report = callKernel(request)
    if (json) printData(JSON.stringify(jsonReport(request, report), undefined, 2))
    else printReport(request, report)
  },
})

function attributesOf(texts: readonly string[]): CallRequest['attributes'] {
  const attributes = texts.map(parseAttribute)
  const names = attributes.map(([name]) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw new UsageError(`--attr ${twice} is given more than once`)
  return Object.fromEntries(attributes)
}

function printReport({ results: specs }: CallRequest, { results, timing }: CallReport): void {
  results.forEach((result, index) => {
    const { path } = specs[index]!
    if (path !== undefined) printTalk(`${path}: ${result.type}`)
    else {
      if (results.length > 1) printTalk(`result ${index}: ${result.type}`)
      printData(formatTensor(result))
    }
  })
  if (timing !== undefined) printTalk(formatTiming(timing))
}

function jsonReport({ library, symbol, results: specs }: CallRequest, report: CallReport): unknown {
  const { convention, version, operands, results, timing } = report
  return {
    library,
    symbol,
    convention,
    version,
    operands: operands.map((operand) => String(operand.type)),
    results: results.map((result, index) => {
      const { path } = specs[index]!
      return { type: String(result.type), ...(path === undefined ? { values: jsonValues(result) } : { path }) }
    }),
    timing,
  }
}
