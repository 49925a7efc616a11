import { ArgumentError, type KernelSignature } from '@tenon/core'
import {
  checkOptions,
  CONSTANTS,
  describe,
  STATUS,
  type RemoteAnswer,
  type RemoteHost,
  type RemoteKernel,
} from '@tenon/core/internal'
import { Attribute, str } from '../attributes/attribute.ts'
import { memoryOf, type AttributeDictionary } from '../attributes/encode-attributes.ts'
import { encodeValues } from '../attributes/encode-values.ts'
import { checkOpaque } from '../call/handler-callee.ts'
import type { KernelCallShape } from '../call/kernel-arguments.ts'
import type { ListedShape } from '../call/listed-arguments.ts'
import { makeKernel } from '../kernel.ts'
import { encodeCall } from '../native/encode-call.ts'
import { callError } from '../native/read-failure.ts'
import { refusedHandler } from '../native/read-metadata.ts'
import { callShape, checkPrepareOptions, PREPARE_OPTIONS, type PrepareOptions } from '../shape/call-shape.ts'
import { ApiVersion } from '../targets/api-version.ts'
import { checkOpaquePassed } from '../targets/untyped-function.ts'
import { IsolatedCall, runsRemotely } from './isolated-call.ts'
import type { IsolatedKernel } from './isolated-kernel.ts'

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
export function isolatedCustomKernel(host: RemoteHost, target: CustomTarget): IsolatedKernel {
  const { signature, frames } = target
  const { name, convention } = signature
  const limits = { limit: frames, gate: host.gate }
  if (signature.source === 'none') {
    return makeKernel<IsolatedCall, undefined, unknown, ListedShape>(signature, undefined, {
      frames: limits,
      ...runsRemotely(host),
      refusePrepare: () => refusePrepare(name),
      prepare: ({ attrs, opaque, ...options }) =>
        prepareCall(host, target, options, { ...(attrs && { attrs }), ...(opaque !== undefined && { opaque }) }),
    }) as unknown as IsolatedKernel
  }
  if (convention !== 'typed') checkOpaque(signature, { platform: 'Host', apiVersion: untypedOf(signature).apiVersion })
  return makeKernel<IsolatedCall, undefined>(signature, undefined, {
    frames: limits,
    ...runsRemotely(host),
    refusePrepare: () => refusePrepare(name),
    prepare: ({ values, resources, stream, ...options }: KernelCallShape) => {
      refuseStream(name, stream)
      const known = convention === 'typed' ? (['deviceOrdinal'] as const) : []
      const { deviceOrdinal } = checkOptions(resources, known, `the resources of ${name} in another process`)
      if (convention !== 'typed') return prepareCall(host, target, options, values)
      for (const { name: attribute, type } of signature.attributes) {
        if (type === 'pointer' && Object.hasOwn(values, attribute)) refusePointer(name, attribute)
      }
      const attrs = encodeValues(signature.attributes, values)
      return prepareCall(host, target, options, { attrs, deviceOrdinal })
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
  host: RemoteHost,
  { signature, symbol, isRegistered }: CustomTarget,
  options: PrepareOptions,
  { attrs = {}, opaque, deviceOrdinal = UNKNOWN_DEVICE }: Extra,
): IsolatedCall {
  host.gate.owner.checkOpen()
  const isTyped = signature.convention === 'typed'
  const shape = callShape(symbol, checkPrepareOptions(symbol, options, PREPARE_OPTIONS))
  if (memoryOf(attrs).length > 0) refusePointer(signature.name, 'an attribute')
  if (!isTyped) checkOpaquePassed(symbol, opaque, untypedOf(signature).apiVersion)
  const { instantiate = '', prepare = '', initialize = '' } = signature.stages
  const operands = shape.operands.length
  const kernel: RemoteKernel = {
    name: signature.name,
    library: host.path,
    file: host.file,
    convention: isTyped
      ? isRegistered
        ? CONSTANTS.TN_HOST_REGISTERED
        : CONSTANTS.TN_HOST_XLA
      : untypedOf(signature).code,
    symbols: [instantiate, prepare, initialize, symbol],
    operands,
    results: shape.leaves.length - operands,
    descriptor: isTyped ? encodeCall(shape, attrs, deviceOrdinal) : str(opaque ?? '').bytes,
    attributes: () =>
      Object.entries(attrs).map(
        ([name, value]) => `${name} = ${value instanceof Attribute ? String(value) : describe(value)}`,
      ),
  }
  return new IsolatedCall(host, {
    kernel,
    shape,
    // The state of a stage can depend on shapes, and only the worker knows the stages of a registered handler.
    isResizable: !isRegistered && instantiate === '' && prepare === '' && initialize === '',
    hasDims: isTyped,
    failure: (answer) => customFailure(kernel, isTyped, answer),
  })
}

/** The error of a custom call in another process. @returns undefined for one that does not depend on the convention */
function customFailure({ library, symbols }: RemoteKernel, isTyped: boolean, answer: RemoteAnswer): Error | undefined {
  const { error, status, code, value, body } = answer
  const [, , , target] = symbols
  const isException = error === CONSTANTS.TN_HOST_EXCEPTION
  if (!isException && error !== CONSTANTS.TN_HOST_XLA_ERROR) {
    if (error === CONSTANTS.TN_HOST_LOAD_ERROR || status !== STATUS.VERSION_MISMATCH.value) return undefined
    return refusedHandler({ target, path: library, version: code, xlaCode: value, text: Buffer.from(body).toString() })
  }
  const isOutOfMemory = !isTyped && status === STATUS.OUT_OF_MEMORY.value
  const thrown = isOutOfMemory ? STATUS.OUT_OF_MEMORY : STATUS.EXCEPTION
  return callError({
    convention: isTyped ? 'typed' : 'untyped',
    target,
    status: (isException ? thrown : STATUS.KERNEL_FAILED).value,
    // An untyped function has no code and no stage.
    ...(isTyped && { xlaCode: code, stage: value }),
    text: Buffer.from(body).toString(),
  })
}

/** Refuses to prepare a call: its frame would lie in another process. @throws {ArgumentError} */
export function refusePrepare(name: string): never {
  throw new ArgumentError(`${name} must be called without prepare(), because its calls run in another process`, {
    hint: 'Call the kernel itself, which keeps what it has prepared for calls with the same types and attributes.',
    details: { path: name },
  })
}

/** Refuses an option that only calls in this process can have. @throws {ArgumentError} */
export function refuseStream(name: string, stream: unknown): void {
  if (stream === undefined) return
  throw new ArgumentError(`stream must not be given to ${name}, which runs on the CPU of another process`, {
    hint: `Call ${name} without a stream, or open the library with Library.open().`,
    details: { path: `the options of ${name}`, received: 'stream' },
  })
}
