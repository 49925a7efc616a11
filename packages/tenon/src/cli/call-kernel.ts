import { resolve } from 'node:path'
import {
  Tensor,
  type DType,
  type KernelSignature,
  type NativeAllocator,
  type Parameter,
  type TensorType,
} from '@tenon/core'
import type { BinaryInfo } from '@tenon/binary'
import { isStringTensor, type ParameterLayout } from '@tenon/core/internal'
import { TypedHandler, type Kernel, type KernelArgument, type NamedLayouts } from '@tenon/custom-call'
import type { StringTensor } from '@tenon/tstring'
import { Library } from '../library.ts'
import type { FoundSignature } from '../signatures/read-signatures.ts'
import { writeNpy, encodeNpyHeader } from '@tenon/weights'
import { explainUnregistered } from './call-custom.ts'
import type { CallFlags } from './call-flags.ts'
import { jsonResults, printResults, printTiming, type Shown } from './call-output.ts'
import type { Definition, Values } from './definition.ts'
import { readKernelAttributes } from './kernel-flags.ts'
import { readOperand, splitLayout, type LayoutSpec } from './layout-spec.ts'
import { assignOperands, outputFiles } from './named-files.ts'
import { readStringOperand, showStrings, typeOf, writeStrings } from './string-files.ts'
import { parseResultSpec, type ResultSpec } from './tensor-spec.ts'
import { printData } from './terminal.ts'
import { timeRuns, type Timing } from './timing.ts'
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

/** A call as the command line describes it. */
export interface ReadCall {
  /** Reads the operands from their files, into memory of an allocator if there is one. @throws the errors of `readNpy`; and of `.npy` files for results that they cannot contain */
  readOperands(allocator?: NativeAllocator): Operands
  /** Prints the results that do not have a file, and the duration of the runs. */
  report(operands: Operands, value: unknown, rest: ReportedFacts): void
  /** Writes the results that have a file. */
  write(value: unknown): void
}

type OperandTensor = Tensor | StringTensor

/** The operands of a call. */
export interface Operands {
  readonly tensors: readonly (readonly OperandTensor[])[]
  /** Returns the arguments of the kernel. @param into the results to write to; undefined to allocate them */
  argumentsOf(into?: unknown): KernelArgument[]
}

/** What the report says besides the results. */
export interface ReportedFacts {
  /** The version of XLA FFI that a typed handler reports. */
  readonly version?: string | undefined
  readonly timing: Timing | undefined
}

/**
 * Calls a kernel as its signature says, and prints or writes its results.
 *
 * @throws {UsageError} if the command line does not fit the signature
 * @throws {XlaError} and {PackedFuncError} if the kernel fails
 * @throws {TenonError} and system errors if the call cannot be made
 */
export function callKernel(call: KernelCall): void {
  const { found, flags, info, repeat } = call
  const read = readCall(call)
  const library = Library.openRead(resolve(flags.library), info, [found])
  try {
    const kernel = openKernel(library, found.signature.name, flags)
    const operands = read.readOperands()
    const value = kernel(...operands.argumentsOf())
    read.write(value)
    const timing = repeat === 0 ? undefined : timeRuns(() => kernel(...operands.argumentsOf(value)), repeat)
    const version = kernel.handler instanceof TypedHandler ? kernel.handler.metadata.version : undefined
    read.report(operands, value, { version, timing })
  } finally {
    library.close()
  }
}

/** Reads the flags of a call. @throws {UsageError} if the command line does not fit the signature */
export function readCall({
  found: { signature },
  options,
  values,
  flags,
}: Omit<KernelCall, 'info' | 'repeat'>): ReadCall {
  const { name } = signature
  const operands = signature.operands.filter(({ isToken }) => !isToken)
  const outputs = outputsOf(signature, flags)
  const attributes = readKernelAttributes(signature, options, values, flags.attr)
  const files = assignOperands(name, operands, flags.arg).map((paths) => paths.map(splitLayout))
  const layouts = layoutsOf(operands, files, outputs)
  const resultsIn = (value: unknown): NamedResult[] => outputs.flatMap((output) => resultsOf(output, value))
  return {
    readOperands(allocator) {
      const tensors = files.map((own, i) =>
        own.map(({ text, layout }): OperandTensor => {
          const operand = operands[i]!
          if (operand.stringLayout !== undefined) return readStringOperand(text, operand, allocator)
          return readOperand(text, layout ?? operand.layout, allocator)
        }),
      )
      refuseUnwritable(operands, tensors, outputs)
      const given = tensors.map((own, i) => (operands[i]!.kind === 'remaining' ? own : own[0]))
      const argumentsOf = (into?: unknown): KernelArgument[] =>
        [
          ...given,
          ...(signature.attributes.length > 0 ? [attributes] : []),
          {
            ...(into === undefined ? resultTypes(outputs) : intoOf(outputs, into)),
            ...(layouts === undefined ? {} : { layouts }),
            ...(flags['host-scratch'] ? { resources: { hostScratch: true } } : {}),
          },
        ] as KernelArgument[]
      return { tensors, argumentsOf }
    },
    write(value) {
      for (const { path, tensor } of resultsIn(value)) {
        if (path === undefined) continue
        if (tensor instanceof Tensor) writeNpy(path, tensor)
        else writeStrings(path, tensor)
      }
    },
    report({ tensors }, value, { version, timing }) {
      const results = resultsIn(value)
      const written = results.map(({ tensor }): Shown => (tensor instanceof Tensor ? tensor : showStrings(tensor)))
      if (flags.json) {
        const document = {
          library: flags.library,
          symbol: flags.symbol,
          convention: signature.convention,
          version,
          operands: tensors.flat().map((one) => (one instanceof Tensor ? String(one.type) : typeOf(one))),
          results: jsonResults(results, written),
          timing,
        }
        printData(JSON.stringify(document, undefined, 2))
      } else {
        printResults(results, written)
        printTiming(timing)
      }
    },
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
  const outputs = parameters.map((parameter, index): Output => {
    const { type, path, layout } = specs[index] ?? {}
    const named = files.get(parameter.name)
    if (named !== undefined && path !== undefined) {
      throw new UsageError(`the file of ${parameter.name} is given by --out and by --result`)
    }
    return { parameter, type, layout, path: named ?? path }
  })
  const owners = new Map<string, string>()
  for (const { parameter, path } of outputs) {
    if (path === undefined) continue
    const file = resolve(path)
    const owner = owners.get(file)
    if (owner !== undefined)
      throw new UsageError(
        `${owner} and ${parameter.name} of ${name} must have files of their own, got ${path} for both`,
      )
    owners.set(file, parameter.name)
  }
  return outputs
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
  tensors: readonly (readonly OperandTensor[])[],
  outputs: readonly Output[],
): void {
  const bound = new Map<string | undefined, DType | undefined>()
  operands.forEach(({ variable }, i) => {
    const first = tensors[i]![0]
    bound.set(variable, bound.get(variable) ?? (first instanceof Tensor ? first.dtype : undefined))
  })
  for (const { parameter, type, path } of outputs) {
    const { dtypes, variable, stringLayout } = parameter
    if (stringLayout !== undefined) continue
    const dtype: DType | undefined = type?.dtype ?? (variable === undefined ? dtypes[0] : bound.get(variable))
    if (path !== undefined && dtype !== undefined) encodeNpyHeader(dtype, [])
  }
}

/** The results that later runs write to. The memory of strings is new each time. */
function intoOf(outputs: readonly Output[], value: unknown): { into?: unknown } {
  if (outputs.every(({ parameter }) => parameter.stringLayout === undefined)) return { into: value }
  if (isStringTensor(value)) return {}
  const numbers = outputs.filter(({ parameter }) => parameter.stringLayout === undefined)
  const values = value as Readonly<Record<string, unknown>>
  return { into: Object.fromEntries(numbers.map(({ parameter: { name } }) => [name, values[name]])) }
}

interface NamedResult {
  readonly name: string
  readonly path: string | undefined
  readonly tensor: OperandTensor
}

/** The tensors of a result in what the kernel returned: itself, or an object of results by name. */
function resultsOf({ parameter, path }: Output, value: unknown): NamedResult[] {
  const { name } = parameter
  const isOnly = value instanceof Tensor || isStringTensor(value)
  const own = isOnly ? value : (value as Readonly<Record<string, unknown>>)[name]
  if (own === undefined) return []
  if (own instanceof Tensor || isStringTensor(own)) return [{ name, path, tensor: own as OperandTensor }]
  return (own as readonly Tensor[]).map((tensor, i) => ({
    name: `${name}[${i}]`,
    path: path?.replace(/(?=\.npy$)|$/, `.${i}`),
    tensor,
  }))
}
