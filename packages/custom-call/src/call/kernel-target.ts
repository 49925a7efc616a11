import { ArgumentError, type KernelSignature } from '@tenon/core'
import { checkOptions } from '@tenon/core/internal'
import { encodeValues } from '../attributes/encode-values.ts'
import { ApiVersion, apiVersionName } from '../targets/api-version.ts'
import { TypedHandler } from '../targets/typed-handler.ts'
import { type UntypedFunction } from '../targets/untyped-function.ts'
import type { KernelCallee } from './kernel-function.ts'
import { preparedCalls } from './prepared-calls.ts'
import type { PreparedCall } from './prepared-call.ts'

const RESOURCES = ['userData', 'hostScratch', 'deviceOrdinal'] as const

/**
 * @internal Makes the callee of a handler or an untyped function with a signature.
 *
 * @param limit the greatest number of frames that the kernel keeps.
 * @throws {ArgumentError} if the function cannot have the attributes of the signature.
 */
export function kernelTarget(
  signature: KernelSignature,
  handler: TypedHandler | UntypedFunction,
  limit: number,
): KernelCallee<PreparedCall> {
  const isTyped = handler instanceof TypedHandler
  if (!isTyped) checkOpaque(signature, handler)
  // The state of a call belongs to one call site.
  const hasState = isTyped && handler.stages.includes('instantiate')
  return {
    frames: { limit: hasState ? 0 : limit, gate: handler.gate },
    prepare: ({ values, resources, ...shape }) => {
      const checked = checkOptions(resources, isTyped ? RESOURCES : [], `the resources of ${signature.name}`)
      if (isTyped) return handler.prepare({ ...checked, ...shape, attrs: encodeValues(signature.attributes, values) })
      return handler.prepare({ ...shape, ...(values as { opaque?: string | Uint8Array }) })
    },
    ...preparedCalls,
  }
}

/** Checks that an untyped function can have the attributes of its signature: only the opaque string, which some conventions pass. */
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
