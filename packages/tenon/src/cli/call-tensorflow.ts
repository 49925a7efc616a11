import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { Tensor, type KernelSignature, type NativeAllocator, type Parameter } from '@tenon/core'
import type { BinaryInfo } from '@tenon/binary'
import { usesTensorFlow } from '@tenon/tensorflow/internal'
import { StringTensor } from '@tenon/tstring'
import { Library } from '../library.ts'
import { writeNpy } from '@tenon/weights'
import { parseArguments } from './arguments.ts'
import type { CallFlags } from './call-flags.ts'
import { printTiming } from './call-output.ts'
import type { Definition, Values } from './definition.ts'
import { formatTensor } from './format-tensor.ts'
import { readIsolateFlags, refuseIsolateFlags } from './isolate-flags.ts'
import { jsonValues } from './json-values.ts'
import { kernelFlags, kernelUsage, readKernelAttributes, unknownFlagHint } from './kernel-flags.ts'
import { readOperand } from './layout-spec.ts'
import { assignOperands, outputFiles } from './named-files.ts'
import { nestStrings } from './string-text.ts'
import { joinLines, readTexts, type TextForm } from './text-files.ts'
import type { Invocation } from './sub-command.ts'
import { printBytes, printData, printTalk } from './terminal.ts'
import { parseRepeat, timeRuns, type Timing } from './timing.ts'
import { UsageError } from './usage-error.ts'

/** A kernel in this process or in a worker. */
interface OpenedKernel {
  (...args: readonly unknown[]): unknown
  readonly signature: KernelSignature
}

/** A string tensor or another one. */
type Result = Tensor | StringTensor

/** A call of a kernel of TensorFlow's C API, whose signature is known once its library is loaded. */
export interface TensorFlowCall {
  readonly library: string
  readonly symbol: string
  readonly rawArgs: readonly string[]
  /** The flags that are not attributes. */
  readonly options: Definition
}

/** Whether a library registers kernels of TensorFlow's C API, of which one can have the name. */
export const mayBeTensorFlow = (info: BinaryInfo, name: string, rawArgs: readonly string[]): boolean =>
  usesTensorFlow(info) &&
  !info.exports.some((symbol) => symbol.name === name) &&
  !rawArgs.some((text) => text === '--registered' || text.startsWith('--abi'))

/** Starts a call. `--help` loads the library as well, because only a loaded library has the signature. */
export function startTensorFlow(call: TensorFlowCall): Invocation {
  const path = resolve(call.library)
  return {
    usage(style) {
      const library = Library.open(path)
      try {
        const { signature } = library.kernel(call.symbol)
        return kernelUsage(signature, { own: kernelFlags(signature, call.options), options: call.options }, style)
      } finally {
        library.close()
      }
    },
    run: () => (call.rawArgs.includes('--isolate') ? runIsolated(call, path) : runHere(call, path)),
  }
}

function runHere(call: TensorFlowCall, path: string): void {
  const library = Library.open(path)
  try {
    const kernel = library.kernel(call.symbol) as unknown as OpenedKernel
    const read = readCall(call, kernel.signature)
    refuseIsolateFlags(read.flags)
    runKernel(kernel, read, undefined)
  } finally {
    library.close()
  }
}

async function runIsolated(call: TensorFlowCall, path: string): Promise<void> {
  // The signature comes from a worker of its own, because the flags of the workers are among those of the attributes.
  const read = readCall(call, await signatureOf(call, path))
  const settings = readIsolateFlags(read.flags)
  const library = await Library.isolate(path, { ...settings, output: read.flags.json ? 'capture' : 'inherit' })
  try {
    const kernel = library.kernel(call.symbol) as unknown as OpenedKernel
    runKernel(kernel, read, library.memory)
  } finally {
    await library.closeAsync()
  }
}

async function signatureOf({ symbol }: TensorFlowCall, path: string): Promise<KernelSignature> {
  const library = await Library.isolate(path, { workers: 1 })
  try {
    return library.kernel(symbol).signature
  } finally {
    await library.closeAsync()
  }
}

/** A call as the command line describes it. */
interface ReadCall {
  readonly signature: KernelSignature
  readonly flags: CallFlags
  readonly repeat: number
  readonly attributes: Readonly<Record<string, unknown>>
  /** The files of each operand. */
  readonly files: readonly (readonly string[])[]
  /** The files of results, by name. */
  readonly out: ReadonlyMap<string, string>
}

/** The flags that only calls of other conventions have. */
const OTHERS = [
  'opaque',
  'abi',
  'stage',
  'alias',
  'result',
  'host-scratch',
  'cuda-driver',
  'registered',
  'allow-newer-api',
] as const

/** @throws {UsageError} if the command line does not fit the signature */
function readCall({ rawArgs, options }: TensorFlowCall, signature: KernelSignature): ReadCall {
  const { name, operands, results } = signature
  const own = kernelFlags(signature, options)
  const values: Values<Definition> = parseArguments(rawArgs, { ...options, ...own }, unknownFlagHint(name, signature))
  const flags = values as unknown as CallFlags
  const other = OTHERS.find((flag) =>
    Array.isArray(flags[flag]) ? flags[flag].length > 0 : flags[flag] !== undefined && flags[flag] !== false,
  )
  if (other !== undefined)
    throw new UsageError(`--${other} cannot be used, because ${name} is a kernel of TensorFlow's C API`)
  return {
    signature,
    flags,
    repeat: flags.repeat === undefined ? 0 : parseRepeat(flags.repeat),
    attributes: readKernelAttributes(signature, options, values, flags.attr),
    files: assignOperands(name, operands, flags.arg),
    out: outputFiles(name, results, flags.out),
  }
}

/** Runs the kernel, and prints or writes its results. */
function runKernel(kernel: OpenedKernel, read: ReadCall, allocator: NativeAllocator | undefined): void {
  const { signature, files, attributes, repeat, flags } = read
  const operands = signature.operands.map(({ kind }, i) => {
    const own = files[i]!.map((file) => readFile(file, allocator))
    return kind === 'remaining' ? own : own[0]
  })
  const args = [...operands, ...(signature.attributes.length > 0 ? [attributes] : [])]
  const results = resultsOf(signature.results, kernel(...args))
  const timing = repeat === 0 ? undefined : timeRuns(() => kernel(...args), repeat)
  const printed = results.filter(({ name, value }) => !write(read.out.get(name), value))
  if (flags.json) printDocument(read, operands.flat() as Result[], results, timing)
  else {
    for (const { name, value } of printed) {
      if (results.length > 1) printTalk(`${name}: ${typeText(value)}`)
      print(value)
    }
    printTiming(timing)
  }
}

const FORM = /@(lines|json)$/

/** Reads an operand: strings from a file of text, such as `words.txt@lines`, or an array from a `.npy` file. */
function readFile(file: string, allocator: NativeAllocator | undefined): Result {
  const form = FORM.exec(file)?.[1] as TextForm | undefined
  if (form === undefined) return readOperand(file, undefined, allocator)
  const { elements, shape } = readTexts(file.replace(FORM, ''), form)
  return StringTensor.from(elements, { shape })
}

interface NamedResult {
  readonly name: string
  readonly value: Result
}

/** The tensors in what the kernel returned: itself, or an object of results by name, with arrays for lists. */
function resultsOf(parameters: readonly Parameter[], returned: unknown): NamedResult[] {
  const isOne = returned instanceof Tensor || returned instanceof StringTensor
  return parameters.flatMap(({ name }) => {
    const value = isOne ? returned : (returned as Readonly<Record<string, Result | readonly Result[]>>)[name]!
    if (!Array.isArray(value)) return [{ name, value: value as Result }]
    return (value as readonly Result[]).map((one, i) => ({ name: `${name}[${i}]`, value: one }))
  })
}

/** Writes a result to its file, if it has one. @returns whether it has one */
function write(file: string | undefined, value: Result): boolean {
  if (file === undefined) return false
  const form = FORM.exec(file)?.[1] as TextForm | undefined
  if (value instanceof StringTensor)
    writeFileSync(file.replace(FORM, ''), form === 'lines' ? joinLines(value) : `${jsonOf(value)}\n`)
  else writeNpy(file, value)
  printTalk(`${file}: ${typeText(value)}`)
  return true
}

const typeText = (value: Result): string =>
  value instanceof StringTensor ? `string[${value.shape.join(', ')}]` : String(value.type)

const valuesOf = (value: Result): unknown =>
  value instanceof StringTensor ? nestStrings(value.toArray(), value.shape) : jsonValues(value)

const jsonOf = (value: Result): string => JSON.stringify(valuesOf(value))

/** Prints an array, or strings as lines. Strings with line breaks, and those of more than one axis are printed as JSON. */
function print(value: Result): void {
  if (!(value instanceof StringTensor)) return printData(formatTensor(value))
  const isText = value.shape.length < 2 && value.toArray().every((text) => !text.includes('\n'))
  if (isText) printBytes(joinLines(value))
  else printData(jsonOf(value))
}

function printDocument(
  { flags, signature }: ReadCall,
  operands: readonly Result[],
  results: readonly NamedResult[],
  timing: Timing | undefined,
): void {
  const document = {
    library: flags.library,
    symbol: flags.symbol,
    convention: signature.convention,
    operands: operands.map(typeText),
    results: results.map(({ name, value }) => ({ name, type: typeText(value), values: valuesOf(value) })),
    timing,
  }
  printData(JSON.stringify(document, undefined, 2))
}
