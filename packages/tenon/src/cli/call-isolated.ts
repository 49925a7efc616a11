import { resolve } from 'node:path'
import { IsolationError, tensor, type KernelConvention, type NativeAllocator, type Tensor } from '@tenon/core'
import { missingSymbol } from '@tenon/core/internal'
import { temp, type KernelArgument } from '@tenon/custom-call'
import { Library } from '../library.ts'
import { packedFunctions } from '../packed-functions.ts'
import type { FoundSignature } from '../signatures/read-signatures.ts'
import { isPackedCall, printPackedReport, printReport, readRequest } from './call-by-hand.ts'
import { callHere, makeCallCommand, type CommandCall } from './call-command.ts'
import type { conventions } from './call-conventions.ts'
import { writeResults, type CallRequest } from './call-custom.ts'
import { readCall } from './call-kernel.ts'
import { hintFor } from './failure.ts'
import { readIsolateFlags } from './isolate-flags.ts'
import { readOperand, splitLayout, type LayoutSpec } from './layout-spec.ts'
import { packedArgument } from './packed-argument.ts'
import type { ResultSpec } from './tensor-spec.ts'
import { printData } from './terminal.ts'
import type { SubCommand } from './sub-command.ts'
import { timeRuns, timeRunsTogether, type Timing } from './timing.ts'
import { UsageError } from './usage-error.ts'

/** The command `tenon call`, which runs a kernel in this process or in one of its own. */
export const callAnywhereCommand: SubCommand = makeCallCommand((call) =>
  call.flags.isolate ? callIsolated(call) : callHere(call),
)

type IsolatedLibrary = Awaited<ReturnType<typeof Library.isolate>>

/** Runs a kernel in a library of workers, and prints or writes the results. */
type RunIn = (library: IsolatedLibrary) => Promise<void>

/**
 * Runs a kernel in a process of its own. With `--json`, an error of the process is a document with its details.
 *
 * @throws {IsolationError} if the kernel ends its process, needs too much time or too much memory
 */
async function callIsolated(call: CommandCall): Promise<void> {
  const { flags, described } = call
  const settings = readIsolateFlags(flags)
  const run =
    described === undefined ? runByHand(call, settings.workers) : runDescribed(call, described, settings.workers)
  // What a kernel prints appears where it appears without --isolate, except beside a document.
  const output = flags.json ? 'capture' : 'inherit'
  try {
    const library = await Library.isolate(resolve(flags.library), { ...settings, output })
    try {
      await run(library)
    } finally {
      await library.closeAsync()
    }
  } catch (error) {
    if (flags.json && error instanceof IsolationError) printData(JSON.stringify(jsonError(call, error), undefined, 2))
    throw error
  }
}

function jsonError({ flags: { library, symbol } }: CommandCall, error: IsolationError): unknown {
  const { code, sentence, details } = error
  return { library, symbol, error: { code, message: sentence, hint: hintFor(error), details } }
}

/** Measures further runs, which all workers share. @param run runs once more and writes to the results of the first run */
function measure(
  kernel: { async(...args: never): Promise<unknown> },
  { repeat }: CommandCall,
  workers: number,
  run: () => void,
  args: () => readonly unknown[],
): Timing | undefined | Promise<Timing> {
  if (repeat === 0) return undefined
  if (workers === 1) return timeRuns(run, repeat)
  return timeRunsTogether(() => kernel.async(...(args() as never)), repeat, workers)
}

function runDescribed(call: CommandCall, found: FoundSignature, workers: number): RunIn {
  const read = readCall({ ...call, found })
  return async (library) => {
    const kernel = library.kernel<unknown>(found.signature.name, optionsOf(call, undefined))
    const operands = read.readOperands(library.memory)
    const value = kernel(...operands.argumentsOf())
    read.write(value)
    const again = (): void => void kernel(...operands.argumentsOf(value))
    const timing = await measure(kernel, call, workers, again, () => operands.argumentsOf())
    read.report(operands, value, { timing })
  }
}

function optionsOf(
  { flags }: CommandCall,
  convention: KernelConvention | undefined,
): { convention?: KernelConvention; registered?: boolean; allowNewerApi: boolean } {
  return {
    ...(convention === undefined ? {} : { convention }),
    ...(flags.registered ? { registered: true } : {}),
    allowNewerApi: flags['allow-newer-api'],
  }
}

/** Runs a kernel without its signature. @throws {UsageError} if the command line does not describe the call */
function runByHand(call: CommandCall, workers: number): RunIn {
  const request = readRequest(call)
  if (isPackedCall(request, call)) return (library) => runPacked(library, call, request, workers)
  const convention = conventionOf(request, call)
  const operands = request.operands.map(splitLayout)
  refuseLayouts([...operands, ...request.results])
  return async (library) => {
    const kernel = library.kernel<Tensor | Tensor[]>(request.symbol, optionsOf(call, convention))
    const tensors = operands.map(({ text }) => readOperand(text, undefined, library.memory))
    const results = request.results.map((spec) => resultOf(spec, library.memory))
    const { attributes, opaque } = request
    const args = [
      ...tensors,
      {
        results,
        ...(Object.keys(attributes).length === 0 ? {} : { attrs: attributes }),
        ...(opaque === undefined ? {} : { opaque }),
      },
    ] as unknown as KernelArgument[]
    const run = (): void => void kernel(...args)
    run()
    const written = results.filter((result) => 'address' in result)
    writeResults(
      request.results.filter(({ isTemp }) => !isTemp),
      written,
    )
    const timing = await measure(kernel, call, workers, run, () => args)
    printReport(
      request,
      { convention, version: undefined, operands: tensors, results: written, timing },
      call.flags.json,
    )
  }
}

const resultOf = ({ type, isTemp }: ResultSpec, allocator: NativeAllocator): Tensor | ReturnType<typeof temp> =>
  isTemp ? temp(type) : tensor(type.dtype, type.shape, undefined, { allocator })

function refuseLayouts(specs: readonly (LayoutSpec | ResultSpec)[]): void {
  if (specs.every(({ layout }) => layout === undefined)) return
  throw new UsageError('--isolate cannot be used with a layout, as in a.npy@cm, for a kernel without a signature')
}

function conventionOf(request: CallRequest, { info }: CommandCall): (typeof conventions)[number] {
  const { convention, known, symbol, library, attributes, registered } = request
  const chosen = convention ?? known ?? (registered || Object.keys(attributes).length > 0 ? 'typed' : undefined)
  if (chosen !== undefined) return chosen as (typeof conventions)[number]
  if (!info.exports.some(({ name }) => name === symbol)) throw missingSymbol(resolve(library), symbol)
  throw new UsageError(
    `${library} does not mark the calling convention of ${symbol}`,
    'Pass --abi typed for an XLA FFI handler, or --abi host for void f(void* out, const void** in).',
  )
}

async function runPacked(
  library: IsolatedLibrary,
  call: CommandCall,
  request: CallRequest,
  workers: number,
): Promise<void> {
  const { generation } = packedFunctions(call.info)
  const kernel = library.packed(request.symbol)
  const results = request.results.map(({ type }) =>
    tensor(type.dtype, type.shape, undefined, { allocator: library.memory }),
  )
  const args = [...request.operands.map(packedArgument), ...results]
  const value = kernel(...args)
  writeResults(request.results, results)
  const timing = await measure(
    kernel,
    call,
    workers,
    () => void kernel(...args),
    () => args,
  )
  printPackedReport(request, { generation, value, results, timing }, call.flags.json)
}
