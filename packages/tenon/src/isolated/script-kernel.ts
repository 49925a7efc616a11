import { ArgumentError, LoadError, type KernelSignature, type TensorType } from '@tenon/core'
import { checkOptions, CONSTANTS, STATUS } from '@tenon/core/internal'
import { callError, callShape, makeKernel, Temp, token, type CallShape } from '@tenon/custom-call/internal'
import { decodeValue, MessageWriter } from '@tenon/packed-func/internal'
import type { Answer, WorkerDetails, WorkerKernel } from '@tenon/isolate/internal'
import { requestFailure, textOf, withWorker } from './failures.ts'
import { IsolatedCall, runsInWorkers } from './isolated-call.ts'
import type { IsolatedContext } from './isolated-context.ts'
import type { IsolatedKernel } from './isolated-kernel.ts'
import { planBuffers } from './plan-buffers.ts'
import { refusePrepare, refuseStream } from './refusals.ts'

/**
 * Makes a kernel of a function in TypeScript, which a worker in Node.js imports from its module.
 *
 * @param frames the number of prepared calls that the kernel keeps.
 * @throws {ArgumentError} if the kernel has no signature, because only the signature knows the results.
 */
export function scriptKernel(
  context: IsolatedContext,
  signature: KernelSignature,
  symbol: string,
  frames: number,
): IsolatedKernel {
  const { name, source, attributes } = signature
  if (source === 'none') {
    throw new ArgumentError(`${name} must have a signature, because it is a function of a script`, {
      hint: `Call library.kernel(${JSON.stringify(name)}, { signature: '(x: f32[n]) -> (y: f32[n])' }), or write a sidecar.`,
      details: { path: context.path, name },
    })
  }
  const pointer = attributes.find(({ type }) => type === 'pointer')
  if (pointer !== undefined) {
    throw new ArgumentError(`${pointer.name} of ${name} must not be an address, which means nothing in another process`)
  }
  return makeKernel<IsolatedCall, undefined>(signature, undefined, {
    frames: { limit: frames, gate: context.gate },
    ...runsInWorkers(context),
    refusePrepare: () => refusePrepare(name),
    prepare: ({ values, resources, stream, layouts, ...options }) => {
      refuseStream(name, stream)
      checkOptions(resources, [], `the resources of ${name} in another process`)
      if (layouts !== undefined) throw new ArgumentError(`${name} must have row-major tensors, because it is a script`)
      const shape = callShape(symbol, options)
      const operands = shape.operands.length
      const kernel: WorkerKernel = {
        name,
        library: context.path,
        convention: CONSTANTS.TN_HOST_SCRIPT,
        symbols: ['', '', '', symbol],
        operands,
        results: shape.leaves.length - operands,
        descriptor: encodeScript(shape, values),
      }
      return new IsolatedCall(context, {
        kernel,
        shape,
        plan: (tensors) => planBuffers(context, shape, tensors),
        failure: (answer, details) => scriptFailure(kernel, answer, details),
      })
    },
  }) as unknown as IsolatedKernel
}

/** Encodes the types of the tensors and the attributes, as a worker in Node.js reads them. */
function encodeScript({ leaves, operands }: CallShape, values: Readonly<Record<string, unknown>>): Uint8Array {
  const writer = new MessageWriter()
  const types = leaves.map((leaf) => {
    if (leaf === token) return null
    const { dtype, shape } = leaf instanceof Temp ? leaf.type : (leaf as TensorType)
    return [dtype, shape]
  })
  write(writer, {
    operands: types.slice(0, operands.length),
    results: types.slice(operands.length),
    attributes: values,
  })
  return writer.finish()
}

/** Writes a plain value. A number is written as a float, so that it is read as a number whatever its size. */
function write(writer: MessageWriter, value: unknown): void {
  if (typeof value === 'number') writer.float(value)
  else if (typeof value === 'bigint') writer.integer(value)
  else if (typeof value === 'boolean') writer.boolean(value)
  else if (typeof value === 'string') writer.text(value)
  else if (value instanceof Uint8Array) writer.bytes(value)
  else if (Array.isArray(value) || ArrayBuffer.isView(value)) {
    const elements = Array.from(value as ArrayLike<unknown>)
    writer.array(elements.length)
    for (const element of elements) write(writer, element)
  } else if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value)
    writer.map(entries.length)
    for (const [key, member] of entries) {
      writer.text(key)
      write(writer, member)
    }
  } else writer.nil()
}

function missingExport({ library, symbols }: WorkerKernel, reason: string): LoadError {
  return new LoadError(`cannot call ${symbols[3]} of ${library}: ${reason}`, {
    hint: 'Export the function, or call kernel() with the name of another export.',
    details: { path: library, symbol: symbols[3] },
  })
}

const UNKNOWN = 2

function scriptFailure(kernel: WorkerKernel, answer: Answer, details: WorkerDetails): Error {
  if (answer.error !== CONSTANTS.TN_HOST_SCRIPT_ERROR) {
    const isMissing = answer.status === STATUS.NOT_FOUND.value
    const error = isMissing ? missingExport(kernel, textOf(answer)) : requestFailure(kernel, answer)
    return withWorker(error, details)
  }
  const parts = decodeValue(answer.body, { operandAt: () => undefined, partAt: () => undefined })
  const [name, message, stack] = Array.isArray(parts) ? (parts as readonly unknown[]).map(String) : []
  const cause = Object.assign(new Error(message), { name, stack })
  const [target, status] = [kernel.symbols[3], STATUS.KERNEL_FAILED.value]
  const error = callError({ convention: 'typed', target, status, xlaCode: UNKNOWN, text: message ?? '', cause })
  return withWorker(error, details)
}
