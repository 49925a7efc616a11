import { ArgumentError, type KernelSignature } from '@tenon/core'
import { checkOptions } from '@tenon/core/internal'
import { encodeValues } from '../attributes/encode-values.ts'
import { ApiVersion, apiVersionName } from '../targets/api-version.ts'
import { TypedHandler } from '../targets/typed-handler.ts'
import type { UntypedFunction } from '../targets/untyped-function.ts'
import type { Callee } from './callee.ts'
import type { KernelCallShape } from './kernel-arguments.ts'
import type { ListedShape } from './listed-arguments.ts'
import type { PreparedCall, ResizedCall } from './prepared-call.ts'
import { runOn } from './run-call.ts'
import { runLater, traceRun } from './run-later.ts'

/** The handler or function of a kernel. */
export type KernelHandler = TypedHandler | UntypedFunction

/** A call that a function prepared, or the same one for tensors of other sizes. */
type LocalCall = PreparedCall | ResizedCall

/** The callee of functions whose calls run in this process. @param limit the greatest number of prepared calls that a function keeps. */
function localCallee<Shape>(
  handler: KernelHandler,
  limit: number,
  prepare: (shape: Shape) => PreparedCall,
): Callee<LocalCall, Shape> {
  // The state of a call belongs to one call site.
  const hasState = handler instanceof TypedHandler && handler.stages.includes('instantiate')
  return {
    frames: { limit: hasState ? 0 : limit, gate: handler.gate },
    prepare,
    run: runOn,
    runAsync: (call, list, { signal, deadline }) => {
      const limits = signal === undefined && deadline === undefined ? undefined : { signal, deadline }
      return traceRun(call, () => runLater(limits, () => call.runOf(list)))
    },
  }
}

/** @internal Makes the callee of a handler or an untyped function without a signature. @param limit as of {@link kernelCallee} */
export function handlerCallee(handler: KernelHandler, limit: number): Callee<LocalCall, ListedShape> {
  return localCallee<ListedShape>(handler, limit, (shape) => handler.prepare(shape as never))
}

const RESOURCES = ['userData', 'hostScratch', 'deviceOrdinal'] as const

/**
 * @internal Makes the callee of a handler or an untyped function with a signature.
 *
 * @param limit the greatest number of prepared calls that the kernel keeps.
 * @throws {ArgumentError} if the function cannot have the attributes of the signature.
 */
export function kernelCallee(
  signature: KernelSignature,
  handler: KernelHandler,
  limit: number,
): Callee<LocalCall, KernelCallShape> {
  const isTyped = handler instanceof TypedHandler
  if (!isTyped) checkOpaque(signature, handler)
  return localCallee<KernelCallShape>(handler, limit, ({ values, resources, ...shape }) => {
    const checked = checkOptions(resources, isTyped ? RESOURCES : [], `the resources of ${signature.name}`)
    if (isTyped) return handler.prepare({ ...checked, ...shape, attrs: encodeValues(signature.attributes, values) })
    return handler.prepare({ ...shape, ...(values as { opaque?: string | Uint8Array }) })
  })
}

/** @internal Checks that an untyped function can have the attributes of its signature: only the opaque string, which some conventions pass. */
export function checkOpaque(
  { name, attributes }: KernelSignature,
  { apiVersion, platform }: Pick<UntypedFunction, 'apiVersion' | 'platform'>,
): void {
  if (attributes.length === 0) return
  const [{ name: first, type }] = attributes as [KernelSignature['attributes'][number]]
  const isOpaque = attributes.length === 1 && first === 'opaque' && (type === 'bytes' || type === 'string')
  const isPassed = platform !== 'Host' || apiVersion === ApiVersion.STATUS_RETURNING_UNIFIED
  if (isOpaque && isPassed) return
  throw new ArgumentError(
    `the signature of ${name} must not have attributes, because ${apiVersionName(apiVersion)} does not pass them`,
    {
      hint: isPassed
        ? 'Declare opaque: bytes, which is passed as the opaque string.'
        : 'Remove the attributes from the signature.',
      details: { path: name, received: attributes.map((one) => one.name) },
    },
  )
}
