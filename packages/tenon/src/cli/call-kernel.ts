import { resolve } from 'node:path'
import {
  Tensor,
  type BinaryInfo,
  type DType,
  type KernelSignature,
  type Parameter,
  type ParameterLayout,
  type TensorType,
} from '@tenon/core'
import { TypedHandler, type Kernel, type NamedLayouts } from '@tenon/custom-call'
import { Library } from '../library.ts'
import type { FoundSignature } from '../signatures/read-signatures.ts'
import { writeNpy } from '../npy/npy-file.ts'
import { encodeNpyHeader } from '../npy/npy-header.ts'
import { explainUnregistered } from './call-custom.ts'
import type { CallFlags } from './call-flags.ts'
import { jsonResults, printResults, printTiming } from './call-output.ts'
import type { Definition, Values } from './definition.ts'
import { readKernelAttributes } from './kernel-flags.ts'
import { readOperand, splitLayout, type LayoutSpec } from './layout-spec.ts'
import { assignOperands, outputFiles } from './named-files.ts'
import { parseResultSpec, type ResultSpec } from './tensor-spec.ts'
import { printData } from './terminal.ts'
import { timeRuns } from './timing.ts'
import { UsageError } from './usage-error.ts'

/** A call of a kernel that has a signature. */
export interface KernelCall {
  readonly found: FoundSignature
  /** The definition of the flags that are not attributes. */
  readonly options: Definition
  /** The values of all flags. */
  readonly values: Values<Definition>
  readonly flags: CallFlags
  /** The headers and symbols of the library. */
  readonly info: BinaryInfo
  readonly repeat: number
}

/** A result of the call: a parameter of the signature, and what the command line says about it. */
interface Output extends Pick<ResultSpec, 'path' | 'layout'> {
  readonly parameter: Parameter
  /** The type, if the operands do not determine it. */
  readonly type: TensorType | undefined
}

/**
 * Calls a kernel as its signature says, and prints or writes its results.
 *
 * @throws {UsageError} if the command line does not fit the signature
 * @throws {XlaError} and {PackedFuncError} if the kernel fails
 * @throws {TenonError} and system errors if the call cannot be made
 */
export function callKernel({ found, options, values, flags, info, repeat }: KernelCall): void {
  const { signature } = found
  const { name } = signature
  const operands = signature.operands.filter(({ isToken }) => !isToken)
  const outputs = outputsOf(signature, flags)
  const attributes = readKernelAttributes(signature, options, values, flags.attr)
  const files = assignOperands(name, operands, flags.arg).map((paths) => paths.map(splitLayout))
  const layouts = layoutsOf(operands, files, outputs)
  const library = Library.openRead(resolve(flags.library), info, [found])
  try {
    const kernel = openKernel(library, name, flags)
    const tensors = files.map((own, i) =>
      own.map(({ text, layout }) => readOperand(text, layout ?? operands[i]!.layout)),
    )
    refuseUnwritable(operands, tensors, outputs)
    const given = tensors.map((own, i) => (operands[i]!.kind === 'remaining' ? own : own[0]))
    const call = (into?: unknown): unknown =>
      kernel(...given, ...(signature.attributes.length > 0 ? [attributes] : []), {
        ...(into === undefined ? resultTypes(outputs) : { into }),
        ...(layouts === undefined ? {} : { layouts }),
        ...(flags['host-scratch'] ? { resources: { hostScratch: true } } : {}),
      })
    const value = call()
    const results = outputs.flatMap((output) => resultsOf(output, value))
    for (const { path, tensor } of results) if (path !== undefined) writeNpy(path, tensor)
    const timing = repeat === 0 ? undefined : timeRuns(() => call(value), repeat)
    const written = results.map(({ tensor }) => tensor)
    if (flags.json) {
      const document = {
        library: flags.library,
        symbol: flags.symbol,
        convention: signature.convention,
        version: kernel.handler instanceof TypedHandler ? kernel.handler.metadata.version : undefined,
        operands: tensors.flat().map(({ type }) => String(type)),
        results: jsonResults(results, written),
        timing,
      }
      printData(JSON.stringify(document, undefined, 2))
    } else {
      printResults(results, written)
      printTiming(timing)
    }
  } finally {
    library.close()
  }
}

function openKernel(library: Library, name: string, flags: CallFlags): Kernel<unknown> {
  const registered = flags.registered ? { registered: true } : {}
  try {
    return library.kernel(name, {
      allowNewerApi: flags['allow-newer-api'],
      ...registered,
    }) as unknown as Kernel<unknown>
  } catch (error) {
    throw flags.registered ? explainUnregistered(error, library, name) : error
  }
}

function outputsOf({ name, results }: KernelSignature, { out, result }: CallFlags): Output[] {
  const parameters = results.filter(({ isToken }) => !isToken)
  const files = outputFiles(name, parameters, out)
  const specs = result.map(parseResultSpec)
  if (specs.length > parameters.length) {
    throw new UsageError(
      `unexpected --result ${result[parameters.length]}: ${name} has ${parameters.length} result${parameters.length === 1 ? '' : 's'}`,
    )
  }
  return parameters.map((parameter, index) => {
    const { type, path, layout } = specs[index] ?? {}
    const named = files.get(parameter.name)
    if (named !== undefined && path !== undefined) {
      throw new UsageError(`the file of ${parameter.name} is given by --out and by --result`)
    }
    return { parameter, type, layout, path: named ?? path }
  })
}

/** The layouts that the command line gives, by name. Undefined if it gives none. */
function layoutsOf(
  operands: readonly Parameter[],
  files: readonly (readonly LayoutSpec[])[],
  outputs: readonly Output[],
): NamedLayouts | undefined {
  const given = (names: readonly (readonly [string, ParameterLayout | undefined])[]): Record<string, ParameterLayout> =>
    Object.fromEntries(names.flatMap(([name, layout]) => (layout === undefined ? [] : [[name, layout] as const])))
  const ofOperands = given(operands.map(({ name }, i) => [name, files[i]!.find(({ layout }) => layout)?.layout]))
  const ofResults = given(outputs.map(({ parameter, layout }) => [parameter.name, layout]))
  if (Object.keys(ofOperands).length + Object.keys(ofResults).length === 0) return undefined
  return { operands: ofOperands, results: ofResults }
}

function resultTypes(outputs: readonly Output[]): { results?: Readonly<Record<string, TensorType>> } {
  const types = outputs.flatMap(({ parameter, type }) => (type === undefined ? [] : [[parameter.name, type] as const]))
  return types.length === 0 ? {} : { results: Object.fromEntries(types) }
}

/** Refuses results with element types that a `.npy` file cannot contain, before anything runs. */
function refuseUnwritable(
  operands: readonly Parameter[],
  tensors: readonly (readonly Tensor[])[],
  outputs: readonly Output[],
): void {
  const bound = new Map<string | undefined, DType | undefined>()
  operands.forEach(({ variable }, i) => bound.set(variable, bound.get(variable) ?? tensors[i]![0]?.dtype))
  for (const { parameter, type, path } of outputs) {
    const { dtypes, variable } = parameter
    const dtype: DType | undefined = type?.dtype ?? (variable === undefined ? dtypes[0] : bound.get(variable))
    if (path !== undefined && dtype !== undefined) encodeNpyHeader(dtype, [])
  }
}

/** The tensors of a result in what the kernel returned: itself, or an object of results by name. */
function resultsOf(
  { parameter, path }: Output,
  value: unknown,
): { name: string; path: string | undefined; tensor: Tensor }[] {
  const { name } = parameter
  const own = value instanceof Tensor ? value : (value as Readonly<Record<string, unknown>>)[name]
  if (own === undefined) return []
  if (own instanceof Tensor) return [{ name, path, tensor: own }]
  return (own as readonly Tensor[]).map((tensor, i) => ({
    name: `${name}[${i}]`,
    path: path?.replace(/(?=\.npy$)|$/, `.${i}`),
    tensor,
  }))
}
