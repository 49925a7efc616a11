import { Tensor, UnsupportedError } from '@tenon/core'
import {
  checkEnterable,
  Cleaner,
  RUN_OPTIONS,
  type IsolatedRunOptions,
  type RemoteCall,
  type RemoteHost,
} from '@tenon/core/internal'
import { resolveAttributes } from '../attributes.ts'
import { isTensorList } from '../bind-operands.ts'
import { readArguments, type TensorFlowCallOptions } from '../call/arguments.ts'
import { factsOf } from '../call/instance.ts'
import { checkOperand, checkStringOperands } from '../call/operand.ts'
import { readInto, refuseOverlaps, valueOf } from '../call/results.ts'
import { chooseKernel } from '../choose-kernel.ts'
import type { FoundKernel } from '../kernel.ts'
import type { OperationDefinition } from '../operation.ts'
import { encodeDescription } from '../native/encode-description.ts'
import { RemoteInstances } from './remote-instances.ts'
import { resultReader, resultsOf } from './remote-results.ts'

/** A kernel that another process runs. */
export interface RemoteTarget extends FoundKernel {
  readonly host: RemoteHost
}

/** The options of a call in another process. */
type RemoteOptions = TensorFlowCallOptions & IsolatedRunOptions

/** Lets the workers forget the kernels of functions that were collected. */
const collected = new Cleaner<RemoteInstances>((instances) => instances.clear())

/**
 * Makes a kernel whose calls run in another process. It has the members of the isolated kernels of other conventions.
 *
 * The worker creates the kernel once for each set of attributes, and keeps the last ones of them.
 */
export function remoteKernel(target: RemoteTarget): ((...args: readonly unknown[]) => unknown) & object {
  const { host, operation, signature, kernels, frames } = target
  const instances = new RemoteInstances(host, frames)
  const begin = (args: readonly unknown[]): RemoteCall<unknown> => beginCall(target, instances, args)
  const call = (...args: readonly unknown[]): unknown => host.run(begin(args))
  const members = {
    name: operation.name,
    async: async (...args: readonly unknown[]) => host.runAsync(begin(args)),
    batch: async (calls: readonly (readonly unknown[])[]) =>
      host.runBatch(Array.from(calls, (args) => () => begin(args))),
    signature,
    handler: kernels,
  }
  for (const [key, value] of Object.entries(members)) Object.defineProperty(call, key, { value })
  collected.watch(call, instances)
  return call
}

const OPTIONS = ['into', 'allocator', ...RUN_OPTIONS] as const

/** Reads and checks the arguments of a call. @throws {ArgumentError} as a call in this process */
function beginCall(target: RemoteTarget, instances: RemoteInstances, args: readonly unknown[]): RemoteCall<unknown> {
  const { host, operation, kernels, choice, signature } = target
  const { name } = operation
  host.gate.owner.checkOpen()
  const { operands, types, counts, attributes, options } = readArguments(operation, signature, args, OPTIONS)
  const { into: given, allocator, ...run } = options as RemoteOptions
  const values = resolveAttributes(operation, types, attributes)
  const { operandCodes, results, resultCounts } = factsOf(operation, host.path, counts, values)
  const into = readInto(operation, resultCounts, results, given)
  for (const [i, operand] of operands.entries()) checkOperand(operand, 0, `operand ${i} of ${name}`)
  refuseOverlaps(operands, into, name)
  // Strings without pointers in memory of the library are passed as they are, and others are copied there.
  const passed = checkStringOperands(operands, { shared: host.allocator }).operands
  for (const { block } of [...operands.map(({ tensor }) => tensor), ...into.filter((one) => one !== undefined)])
    checkEnterable(block)
  const body = Buffer.concat([
    ...operands.map(({ key: { type, isString } }, i) =>
      describe(operandCodes[i]!, type.shape, isString ? 24 * type.elementCount : type.byteSize),
    ),
    ...results.map(({ code }, i) => describe(code, into[i]?.shape ?? [], into[i]?.type.byteSize ?? 0)),
  ])
  for (const [attribute, value] of values)
    if ([value].flat().some((one) => one instanceof Tensor)) refuseTensor(name, attribute)
  const kernel = chooseKernel(name, kernels, values, choice)
  const description = encodeDescription(kernel.index, operation, counts, values)
  const instance = instances.take(name, description, operands.length, results.length)
  const expected = { types: results, places: placesOf(operation, resultCounts), into, allocator }
  const answer = resultReader(host, expected)
  return {
    kernel: instance.kernel,
    operands: [
      ...passed.map(({ tensor }) => ({ tensor, type: tensor.type, isWritten: false })),
      ...into.map((tensor) => (tensor === undefined ? null : { tensor, type: tensor.type, isWritten: true })),
    ],
    body,
    options: run,
    parts: (head) => answer.parts(head),
    read: (head) => valueOf(operation, resultCounts, resultsOf(answer.read(head), expected)),
    failure: (head) => instances.failure(name, head),
    ended: () => instances.give(instance),
  }
}

/** The names of all results for messages, those of lists one after another. */
const placesOf = ({ name, outputs }: OperationDefinition, counts: readonly number[]): string[] =>
  outputs.flatMap((output, i) =>
    Array.from({ length: counts[i]! }, (_, k) => `${output.name}${isTensorList(output) ? `[${k}]` : ''} of ${name}`),
  )

/** Describes a tensor as `tn_host_tensor_t`. */
function describe(code: number, shape: readonly number[], byteSize: number): Buffer {
  const bytes = Buffer.alloc(16 + 8 * shape.length)
  bytes.writeInt32LE(code, 0)
  bytes.writeInt32LE(shape.length, 4)
  bytes.writeBigUInt64LE(BigInt(byteSize), 8)
  shape.forEach((size, axis) => bytes.writeBigInt64LE(BigInt(size), 16 + 8 * axis))
  return bytes
}

function refuseTensor(name: string, attribute: string): never {
  throw new UnsupportedError(`${attribute} of ${name} must not be a tensor in another process`, {
    hint: 'Open the library with Library.open().',
    details: { path: `${attribute} of ${name}` },
  })
}
