import type { CommandDef } from 'citty'
import { checkArguments, type Definition } from './arguments.ts'
import { conventions, deviceConventions } from '../marked-calls.ts'
import { callPacked, isPackedFunction, jsonPacked, printPacked } from './call-packed.ts'
import type { Alias } from '@tenon/custom-call'
import { callKernel, writtenResults, type CallRequest, type CallReport } from './call-kernel.ts'
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
  symbol: { type: 'positional', required: true, description: 'the name of the custom call or packed function in it' },
  arg: {
    type: 'string',
    repeatable: true,
    valueHint: 'x.npy',
    description:
      'an operand, read from a .npy file; for a packed function also int:3, float:1e-5, bool:true, str:text, none; repeatable, in order',
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
  abi: {
    type: 'enum',
    options: [...conventions, ...deviceConventions, 'packed'],
    description: 'how it is called, if the library does not say',
  },
  stage: {
    type: 'string',
    repeatable: true,
    valueHint: 'instantiate=symbol',
    description: 'the handler of another stage of a typed call: instantiate, prepare or initialize; repeatable',
  },
  registered: {
    type: 'boolean',
    description: 'the symbol is a name under which the library registers a typed handler itself',
  },
  alias: {
    type: 'string',
    repeatable: true,
    valueHint: 'operand=result',
    description: 'a result that lies where an operand does, both by their numbers from 0; repeatable',
  },
  'host-scratch': {
    type: 'boolean',
    description: 'give typed handlers memory when they ask for that of a device, which XLA refuses on the Host',
  },
  'cuda-driver': {
    type: 'string',
    valueHint: 'libcuda.so.1',
    description: 'the library of the CUDA driver, for --abi cuda, cuda-status and cuda-typed',
  },
  'allow-newer-api': {
    type: 'boolean',
    description: 'call a typed handler built for a newer XLA FFI than is known here',
  },
  repeat: { type: 'string', valueHint: 'n', description: 'run it n times more and print how long a run takes' },
  json: { type: 'boolean', description: 'print one JSON document' },
} as const satisfies Definition

/** `tenon call`: runs a kernel on arrays from files. */
export const callCommand: CommandDef = defineSubCommand({
  meta: {
    name: 'call',
    description: 'Call a custom call or a packed function of a library with arrays from .npy files',
  },
  args,
  run({ rawArgs, args: given }) {
    const values = checkArguments(rawArgs, args)
    const { library, symbol, abi, opaque, repeat, json, registered = false } = given
    const {
      'allow-newer-api': allowNewerApi = false,
      'host-scratch': hostScratch = false,
      'cuda-driver': cudaDriver,
    } = given
    const request: CallRequest = {
      library,
      symbol,
      operands: values.get('arg') ?? [],
      attributes: attributesOf(values.get('attr') ?? []),
      results: (values.get('result') ?? []).map(parseResultSpec),
      convention: abi === 'packed' ? undefined : abi,
      opaque,
      repeat: repeat === undefined ? 0 : parseRepeat(repeat),
      allowNewerApi,
      stages: stagesOf(values.get('stage') ?? []),
      registered,
      aliases: (values.get('alias') ?? []).map(parseAlias),
      hostScratch,
      cudaDriver,
    }
    if (abi === 'packed' || (abi === undefined && isPackedFunction(request))) {
      const report = callPacked(request)
      if (json) printData(JSON.stringify(jsonPacked(request, report), undefined, 2))
      else printPacked(request, report)
      return
    }
    const report = callKernel(request)
    if (json) printData(JSON.stringify(jsonReport(request, report), undefined, 2))
    else printReport(request, report)
  },
})

function stagesOf(texts: readonly string[]): CallRequest['stages'] {
  const stages: Record<string, string> = {}
  for (const text of texts) {
    const match = /^(instantiate|prepare|initialize)=(.+)$/.exec(text)
    if (match === null || Object.hasOwn(stages, match[1]!)) {
      throw new UsageError(
        `--stage ${text} should be instantiate=symbol, prepare=symbol or initialize=symbol, each once`,
      )
    }
    stages[match[1]!] = match[2]!
  }
  return stages
}

function parseAlias(text: string): Alias {
  const match = /^(\d{1,5})=(\d{1,5})$/.exec(text)
  if (match !== null) return { operand: Number(match[1]), result: Number(match[2]) }
  throw new UsageError(`--alias ${text} should be operand=result, such as 0=0`)
}

function attributesOf(texts: readonly string[]): CallRequest['attributes'] {
  const attributes = texts.map(parseAttribute)
  const names = attributes.map(([name]) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw new UsageError(`--attr ${twice} is given more than once`)
  return Object.fromEntries(attributes)
}

function printReport(request: CallRequest, { results, timing }: CallReport): void {
  const specs = writtenResults(request)
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

function jsonReport(request: CallRequest, report: CallReport): unknown {
  const { library, symbol } = request
  const specs = writtenResults(request)
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
