import { ArgumentError, type KernelSignature } from '@tenon/core'
import { checkOptions, CONSTANTS } from '@tenon/core/internal'
import { ApiVersion, type AttributeDictionary } from '@tenon/custom-call'
import {
  callShape,
  checkOpaque,
  checkOpaquePassed,
  checkPrepareOptions,
  encodeCall,
  encodeValues,
  makeKernel,
  memoryOf,
  PREPARE_OPTIONS,
  str,
  type KernelCallShape,
  type ListedShape,
  type PrepareOptions,
} from '@tenon/custom-call/internal'
import type { WorkerKernel } from '@tenon/isolate/internal'
import { customFailure } from './failures.ts'
import { IsolatedCall, runsInWorkers } from './isolated-call.ts'
import type { IsolatedContext } from './isolated-context.ts'
import type { IsolatedKernel } from './isolated-kernel.ts'
import { planBuffers } from './plan-buffers.ts'
import { refusePrepare, refuseStream } from './refusals.ts'

/** A custom call: a typed handler of the library, one that it registers, or an untyped function. */
export interface CustomTarget {
  readonly signature: KernelSignature
  /** The symbol of the execute handler or of the function, or the registered name. */
  readonly symbol: string
  readonly isRegistered: boolean
  /** The number of prepared calls that the kernel keeps. */
  readonly frames: number
}

/** The attributes of a typed call, or the opaque string of an untyped one. */
interface Extra {
  readonly attrs?: AttributeDictionary
  readonly opaque?: string | Uint8Array
  readonly deviceOrdinal?: number | undefined
}

const untyped = {
  host: { code: CONSTANTS.TN_HOST_ORIGINAL, apiVersion: ApiVersion.ORIGINAL },
  'host-status': { code: CONSTANTS.TN_HOST_STATUS, apiVersion: ApiVersion.STATUS_RETURNING },
  'host-unified': { code: CONSTANTS.TN_HOST_UNIFIED, apiVersion: ApiVersion.STATUS_RETURNING_UNIFIED },
} as const

const UNKNOWN_DEVICE = -1

/** Makes a kernel of a custom call. @throws {ArgumentError} if the function cannot have the attributes of the signature. */
export function customKernel(context: IsolatedContext, target: CustomTarget): IsolatedKernel {
  const { signature, frames } = target
  const { name, convention } = signature
  const limits = { limit: frames, gate: context.gate }
  if (signature.source === 'none') {
    return makeKernel<IsolatedCall, undefined, unknown, ListedShape>(signature, undefined, {
      frames: limits,
      ...runsInWorkers(context),
      refusePrepare: () => refusePrepare(name),
      prepare: ({ attrs, opaque, ...options }) =>
        prepareCall(context, target, options, { ...(attrs && { attrs }), ...(opaque !== undefined && { opaque }) }),
    }) as unknown as IsolatedKernel
  }
  if (convention !== 'typed') checkOpaque(signature, { platform: 'Host', apiVersion: untypedOf(signature).apiVersion })
  return makeKernel<IsolatedCall, undefined>(signature, undefined, {
    frames: limits,
    ...runsInWorkers(context),
    refusePrepare: () => refusePrepare(name),
    prepare: ({ values, resources, stream, ...options }: KernelCallShape) => {
      refuseStream(name, stream)
      const known = convention === 'typed' ? (['deviceOrdinal'] as const) : []
      const { deviceOrdinal } = checkOptions(resources, known, `the resources of ${name} in another process`)
      if (convention !== 'typed') return prepareCall(context, target, options, values)
      for (const { name: attribute, type } of signature.attributes) {
        if (type === 'pointer' && Object.hasOwn(values, attribute)) refusePointer(name, attribute)
      }
      const attrs = encodeValues(signature.attributes, values)
      return prepareCall(context, target, options, { attrs, deviceOrdinal })
    },
  }) as unknown as IsolatedKernel
}

const untypedOf = ({ convention }: KernelSignature): (typeof untyped)[keyof typeof untyped] =>
  untyped[convention as keyof typeof untyped]

function refusePointer(kernel: string, attribute: string): never {
  throw new ArgumentError(`${attribute} of ${kernel} must not be an address, which means nothing in another process`, {
    hint: 'Pass the memory as an operand, or open the library with Library.open().',
    details: { path: attribute },
  })
}

/** Checks and encodes a call. @throws {ArgumentError} if something cannot be passed. */
function prepareCall(
  context: IsolatedContext,
  { signature, symbol, isRegistered }: CustomTarget,
  options: PrepareOptions,
  { attrs = {}, opaque, deviceOrdinal = UNKNOWN_DEVICE }: Extra,
): IsolatedCall {
  context.gate.owner.checkOpen()
  const isTyped = signature.convention === 'typed'
  const shape = callShape(symbol, checkPrepareOptions(symbol, options, PREPARE_OPTIONS))
  if (memoryOf(attrs).length > 0) refusePointer(signature.name, 'an attribute')
  if (!isTyped) checkOpaquePassed(symbol, opaque, untypedOf(signature).apiVersion)
  const { instantiate = '', prepare = '', initialize = '' } = signature.stages
  const operands = shape.operands.length
  const kernel: WorkerKernel = {
    name: signature.name,
    library: context.path,
    convention: isTyped
      ? isRegistered
        ? CONSTANTS.TN_HOST_REGISTERED
        : CONSTANTS.TN_HOST_XLA
      : untypedOf(signature).code,
    symbols: [instantiate, prepare, initialize, symbol],
    operands,
    results: shape.leaves.length - operands,
    descriptor: isTyped ? encodeCall(shape, attrs, deviceOrdinal) : str(opaque ?? '').bytes,
  }
  return new IsolatedCall(context, {
    kernel,
    shape,
    plan: (tensors) => planBuffers(context, shape, tensors),
    failure: customFailure(kernel, symbol, isTyped ? 'typed' : 'untyped'),
  })
}
