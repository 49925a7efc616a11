import { writeFileSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { formatSignature, Tensor, type KernelSignature, type NativeAllocator } from '@tenon/core'
import { readBinary, type BinaryInfo } from '@tenon/binary'
import { isStringTensor } from '@tenon/core/internal'
import { usesTensorFlow } from '@tenon/tensorflow/internal'
import { drawBench, variedAxis } from '../benchmark/bench-plot.ts'
import { describeRun, readResult, writeResult, type BenchPoint } from '../benchmark/bench-result.ts'
import { formatBench } from '../benchmark/bench-table.ts'
import { checkAxes, fillOperands, parseTypes, type Operand } from '../benchmark/filled-operands.ts'
import { measure, type Contestant } from '../benchmark/measure.ts'
import { parseSizes, type Sizes } from '../benchmark/size-range.ts'
import { Library } from '../library.ts'
import { readSignatures } from '../signatures/read-signatures.ts'
import { leadingPositionals, parseArguments } from './arguments.ts'
import type { Definition, Values } from './definition.ts'
import { InputError } from './input-error.ts'
import { kernelFlags, kernelUsage, readKernelAttributes, unknownFlagHint } from './kernel-flags.ts'
import { readOperand } from './layout-spec.ts'
import { assignOperands } from './named-files.ts'
import { showProgress } from './progress.ts'
import { readStringOperand } from './string-files.ts'
import type { Invocation, SubCommand } from './sub-command.ts'
import { printData, styleFor } from './terminal.ts'
import { parseDuration } from './units.ts'
import { commandUsage } from './usage.ts'
import { UsageError } from './usage-error.ts'

const args = {
  library: { type: 'positional', description: 'the shared library' },
  symbol: {
    type: 'positional',
    description: 'the name of the kernel; with --help, its signature and flags are printed',
  },
  size: {
    type: 'string',
    repeatable: true,
    valueHint: 'n=1k..1M',
    description:
      'the sizes of an axis of the signature: n=4096, n=1k,8k or n=1k..1M in steps of 4; ...=16 is one axis for a group',
  },
  type: {
    type: 'string',
    repeatable: true,
    valueHint: 'x=f64',
    description: 'the element type of an operand or of a type variable; by default f32, if it is allowed',
  },
  arg: {
    type: 'string',
    repeatable: true,
    valueHint: 'x=x.npy',
    description: 'an operand from a file; others are filled with numbers from 0 to 1, or with 0 and 1',
  },
  attr: {
    type: 'string',
    repeatable: true,
    valueHint: 'name=value',
    description: 'an attribute whose name is a flag of the command',
  },
  isolate: { type: 'boolean', description: 'measure the kernel in a process of its own as well' },
  with: {
    type: 'string',
    repeatable: true,
    valueHint: 'other.so',
    description: 'another library that has the kernel, measured in turns with the first',
  },
  kernel: {
    type: 'string',
    repeatable: true,
    valueHint: 'name',
    description: 'another kernel of the library that takes the same operands, measured in turns with the first',
  },
  time: {
    type: 'string',
    valueHint: '500ms',
    description: 'how long each contestant runs with each size; by default 500ms',
  },
  save: { type: 'string', valueHint: 'base.json', description: 'write the result to a file' },
  against: { type: 'string', valueHint: 'base.json', description: 'compare with a result of --save' },
  plot: { type: 'string', valueHint: 'plot.svg', description: 'draw the times against the sizes, in light and dark' },
  json: { type: 'boolean', description: 'print one JSON document' },
} as const satisfies Definition

const meta = { name: 'bench', description: 'Measure a kernel with operands of many sizes' }

/** The command `tenon bench`. */
export const benchCommand: SubCommand = {
  meta,
  args,
  start(rawArgs) {
    const [library, symbol] = leadingPositionals(rawArgs, args)
    if (library !== undefined && symbol !== undefined) return startBench(library, symbol, rawArgs)
    return {
      usage: (style) => commandUsage(meta, args, style),
      run: () => void parseArguments(rawArgs, args, 'Run tenon bench --help for the list.'),
    }
  },
}

function startBench(library: string, symbol: string, rawArgs: readonly string[]): Invocation {
  const info = readBinary(library)
  const signature = signatureOf(library, info, symbol)
  const own = kernelFlags(signature, args)
  return {
    usage: (style) => kernelUsage(signature, { own, options: args }, style),
    run: () => bench(signature, parseArguments(rawArgs, { ...args, ...own }, unknownFlagHint(symbol, signature))),
  }
}

/** Reads the signature of a kernel, without loading the library unless it registers kernels of TensorFlow's C API. */
function signatureOf(path: string, info: BinaryInfo, symbol: string): KernelSignature {
  const [found] = readSignatures(path, info, { name: symbol })
  if (found !== undefined && found.signature.source !== 'none') return found.signature
  const isExported = info.exports.some(({ name }) => name === symbol)
  if (found !== undefined || isExported || !usesTensorFlow(info)) throw withoutSignature(path, symbol)
  const library = Library.open(resolve(path))
  try {
    return library.kernel(symbol).signature
  } finally {
    library.close()
  }
}

const withoutSignature = (path: string, symbol: string): InputError =>
  new InputError(
    `${path} does not have a signature for a kernel named ${symbol}`,
    'Write a sidecar with its signature, or measure one call with tenon call --repeat.',
  )

async function bench(signature: KernelSignature, values: Values<Definition>): Promise<void> {
  const flags = values as Values<typeof args>
  const points = parseSizes(flags.size)
  checkAxes(Object.keys(points[0]!), signature)
  const axis = variedAxis(points)
  if (flags.plot !== undefined && axis === undefined)
    throw new UsageError('--plot needs one axis with several sizes', 'Pass for example --size n=1k..1M.')
  const time = flags.time === undefined ? 500e6 : parseTime(flags.time)
  const baseline = flags.against === undefined ? undefined : readResult(flags.against)
  const run = describeRun(signature.name, formatSignature({ ...signature, doc: '' }))
  const prepare = makePrepare(signature, values)
  const libraries = new Libraries()
  const measured: BenchPoint[] = []
  try {
    for (const source of sourcesOf(flags)) {
      libraries.openHere(source)
      if (flags.isolate) await libraries.openIsolated(source)
    }
    for (const sizes of points) {
      const progress = showProgress(`${signature.name}${textOf(sizes)}: ${measured.length + 1} of ${points.length}`)
      try {
        const { contestants, ...facts } = contestantsOf(libraries.opened, prepare(sizes))
        measured.push({ sizes, ...facts, contestants: await measure(contestants, time, nextTurn) })
      } finally {
        progress.end()
      }
    }
  } finally {
    await libraries.closeAsync()
  }
  const result = { ...run, points: measured }
  if (flags.save !== undefined) writeResult(flags.save, result)
  if (flags.plot !== undefined) writeFileSync(flags.plot, drawBench(result, axis!))
  printData(flags.json ? JSON.stringify(result, undefined, 2) : formatBench(result, baseline, styleFor(process.stdout)))
}

/** Lets the event loop show the progress and react to signals. */
const nextTurn = (): Promise<void> => new Promise((resolveTurn) => void setImmediate(resolveTurn))

const textOf = (sizes: Sizes): string =>
  Object.entries(sizes)
    .map(([name, size]) => `, ${name} = ${size}`)
    .join('')

function parseTime(text: string): number {
  const milliseconds = parseDuration('--time', text)
  if (milliseconds <= 600_000) return milliseconds * 1e6
  throw new UsageError(`--time must be at most 10min, got ${text}`)
}

/** A kernel in this process or in a worker. */
interface OpenedKernel {
  (...args: readonly unknown[]): unknown
  readonly signature: KernelSignature
}

interface Opened {
  readonly name: string
  readonly kernel: OpenedKernel
  /** The memory in which operands are not copied; undefined for that of this process. */
  readonly allocator: NativeAllocator | undefined
}

interface Source {
  readonly path: string
  readonly symbol: string
  /** The name in the table; undefined if it is the only source. */
  readonly name: string | undefined
}

/** The libraries that have been opened. */
class Libraries {
  readonly opened: Opened[] = []
  readonly #closers: (() => void | Promise<void>)[] = []

  openHere({ path, symbol, name = 'in process' }: Source): void {
    const library = Library.open(resolve(path))
    this.#closers.push(() => library.close())
    const kernel = library.kernel(symbol) as unknown as OpenedKernel
    this.opened.push({ name, kernel, allocator: undefined })
  }

  async openIsolated({ path, symbol, name }: Source): Promise<void> {
    const library = await Library.isolate(resolve(path))
    this.#closers.push(() => library.closeAsync())
    const kernel = library.kernel(symbol) as unknown as OpenedKernel
    this.opened.push({ name: name === undefined ? 'isolated' : `${name}, isolated`, kernel, allocator: library.memory })
  }

  async closeAsync(): Promise<void> {
    for (const close of this.#closers.toReversed()) await close()
  }
}

/** The kernel, and those that are compared with it. */
function sourcesOf({ library, symbol, kernel, with: others }: Values<typeof args>): Source[] {
  const paths = [library, ...others]
  if (paths.length > 1 && kernel.length > 0) throw new UsageError('--with and --kernel cannot be used together')
  if (kernel.length > 0) return [symbol, ...kernel].map((name) => ({ path: library, symbol: name, name }))
  const hasNames = new Set(paths.map((path) => basename(path))).size === paths.length
  return paths.map((path) => ({
    path,
    symbol,
    name: paths.length === 1 ? undefined : hasNames ? basename(path) : path,
  }))
}

/** Makes the arguments of a call with the operands in memory of an allocator. */
type MakeArguments = (allocator: NativeAllocator | undefined) => (Operand | readonly Operand[] | undefined)[]

interface PreparedPoint {
  readonly makeOperands: MakeArguments
  readonly attributes: readonly Readonly<Record<string, unknown>>[]
}

/** Reads the flags that determine the operands. @throws {UsageError} if they do not fit the signature */
function makePrepare(signature: KernelSignature, values: Values<Definition>): (sizes: Sizes) => PreparedPoint {
  const flags = values as Values<typeof args>
  const operands = signature.operands.filter(({ isToken }) => !isToken)
  const attributes = readKernelAttributes(signature, args, values, flags.attr)
  const dtypes = parseTypes(flags.type, signature)
  // Operands without a file are filled.
  const optional = operands.map((operand) =>
    operand.kind === 'one' ? { ...operand, kind: 'optional' as const } : operand,
  )
  const files = assignOperands(signature.name, optional, flags.arg)
  return (sizes) => ({
    attributes: signature.attributes.length > 0 ? [attributes] : [],
    makeOperands(allocator) {
      const read = files.map((own, i) =>
        own.map((file): Operand => {
          const operand = operands[i]!
          return operand.stringLayout === undefined
            ? readOperand(file, operand.layout, allocator)
            : readStringOperand(file, operand, allocator)
        }),
      )
      return fillOperands({ signature, sizes, dtypes, attributes, read }, allocator)
    },
  })
}

/** Runs each kernel once, and returns their runs that write to the results of that one. */
function contestantsOf(
  opened: readonly Opened[],
  { makeOperands, attributes }: PreparedPoint,
): Omit<BenchPoint, 'sizes' | 'contestants'> & { readonly contestants: readonly Contestant[] } {
  let facts: Omit<BenchPoint, 'sizes' | 'contestants'> | undefined
  const contestants = opened.map(({ name, kernel, allocator }): Contestant => {
    const operands = makeOperands(allocator)
    const value = kernel(...operands, ...attributes)
    const results = tensorsOf(value)
    facts ??= {
      operands: tensorsOf(operands).map(({ type }) => String(type)),
      byteSize: [...tensorsOf(operands), ...results].reduce((sum, { segment }) => sum + segment.byteSize, 0),
    }
    const into = results.every((result) => result instanceof Tensor) ? [{ into: value }] : []
    const list = [...operands, ...attributes, ...into]
    return { name, run: () => void kernel(...list) }
  })
  return { ...facts!, contestants }
}

/** The tensors in a value: the value itself, or the members of a list or of an object. */
function tensorsOf(value: unknown): Operand[] {
  if (value instanceof Tensor || isStringTensor(value)) return [value as Operand]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(tensorsOf) : []
}
