import { readBinary } from '@tenon/core'
import type { Alias } from '@tenon/custom-call'
import { conventions, deviceConventions } from '../marked-calls.ts'
import { parseAttribute } from './attribute-spec.ts'
import { callKernel, writtenResults, type CallReport, type CallRequest } from './call-kernel.ts'
import { jsonResults, printResults, printTiming } from './call-output.ts'
import { callPacked, isPackedFunction, jsonPacked, printPacked } from './call-packed.ts'
import { defineSubCommand, type Definition, type SubCommand } from './sub-command.ts'
import { parseResultSpec } from './tensor-spec.ts'
import { printData } from './terminal.ts'
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
    description: 'the calling convention, if the library does not mark it',
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
    description: 'a result that shares the memory of an operand, both by their numbers from 0; repeatable',
  },
  'host-scratch': {
    type: 'boolean',
    description: 'give typed handlers host memory when they ask for device memory, which XLA refuses on the host',
  },
  'cuda-driver': {
    type: 'string',
    valueHint: 'libcuda.so.1',
    description: 'the library of the CUDA driver, for --abi cuda, cuda-status and cuda-typed',
  },
  'allow-newer-api': {
    type: 'boolean',
    description: 'call a typed handler that was built for a newer XLA FFI than tenon supports',
  },
  repeat: { type: 'string', valueHint: 'n', description: 'run it n more times and print the duration of a run' },
  json: { type: 'boolean', description: 'print one JSON document' },
} as const satisfies Definition

/** The command `tenon call`, which runs a kernel on arrays from files. */
export const callCommand: SubCommand = defineSubCommand({
  meta: {
    name: 'call',
    description: 'Call a custom call or a packed function of a library with arrays from .npy files',
  },
  args,
  run({ library, symbol, abi, opaque, repeat, json, registered, ...flags }) {
    const request: CallRequest = {
      library,
      symbol,
      operands: flags.arg,
      attributes: attributesOf(flags.attr),
      results: flags.result.map(parseResultSpec),
      convention: abi === 'packed' ? undefined : abi,
      opaque,
      repeat: repeat === undefined ? 0 : parseRepeat(repeat),
      allowNewerApi: flags['allow-newer-api'],
      stages: stagesOf(flags.stage),
      registered,
      aliases: flags.alias.map(parseAlias),
      hostScratch: flags['host-scratch'],
      cudaDriver: flags['cuda-driver'],
    }
    // Refuses other files before the system's loader sees them.
    const info = readBinary(library)
    if (abi === 'packed' || (abi === undefined && isPackedFunction(request, info))) {
      const report = callPacked(request, info)
      if (json) printData(JSON.stringify(jsonPacked(request, report), undefined, 2))
      else printPacked(request, report)
      return
    }
    const report = callKernel(request, info)
    if (json) printData(JSON.stringify(jsonReport(request, report), undefined, 2))
    else {
      printResults(writtenResults(request), report.results)
      printTiming(report.timing)
    }
  },
})

function parseRepeat(text: string): number {
  const count = Number(text)
  if (/^\d+$/.test(text) && count >= 1 && count <= 1e9) return count
  throw new UsageError(`--repeat must be a whole number from 1 to 1000000000, got ${text}`)
}

function stagesOf(texts: readonly string[]): CallRequest['stages'] {
  const stages: Record<string, string> = {}
  for (const text of texts) {
    const match = /^(instantiate|prepare|initialize)=(.+)$/.exec(text)
    if (match === null || Object.hasOwn(stages, match[1]!)) {
      throw new UsageError(
        `--stage must be instantiate=symbol, prepare=symbol or initialize=symbol, each once, got ${text}`,
      )
    }
    stages[match[1]!] = match[2]!
  }
  return stages
}

function parseAlias(text: string): Alias {
  const match = /^(\d{1,5})=(\d{1,5})$/.exec(text)
  if (match !== null) return { operand: Number(match[1]), result: Number(match[2]) }
  throw new UsageError(`--alias must be operand=result, such as 0=0, got ${text}`)
}

function attributesOf(texts: readonly string[]): CallRequest['attributes'] {
  const attributes = texts.map(parseAttribute)
  const names = attributes.map(([name]) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw new UsageError(`--attr ${twice} is given more than once`)
  return Object.fromEntries(attributes)
}

function jsonReport(request: CallRequest, { convention, version, operands, results, timing }: CallReport): unknown {
  return {
    library: request.library,
    symbol: request.symbol,
    convention,
    version,
    operands: operands.map((operand) => String(operand.type)),
    results: jsonResults(writtenResults(request), results),
    timing,
  }
}
