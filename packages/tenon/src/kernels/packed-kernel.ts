import { ArgumentError, type KernelSignature } from '@tenon/core'
import { enterAll, exitAll, type Gate } from '@tenon/core/internal'
import type { Kernel } from '@tenon/custom-call'
import { makeKernel } from '@tenon/custom-call/internal'
import type { Argument, PackedFunc } from '@tenon/packed-func'
import { checkPackedAttributes } from './packed-attribute.ts'
import { preparePackedCall, tensorsOf, type PackedCall } from './packed-call.ts'

/** A packed function with the facts that its kernel needs. */
export interface PackedTarget {
  readonly signature: KernelSignature
  readonly packed: PackedFunc
  /** The gate of the library. */
  readonly gate: Gate
  /** The most prepared calls that the kernel keeps. */
  readonly frames: number
}

/**
 * Makes a kernel of a packed function. The signature determines the arguments: operands, results, temporaries and attributes in
 * this order, or in that of the `packed` clause. If the signature does not name the results, the kernel passes its arguments to the function unchanged.
 *
 * @throws {ArgumentError} if packed functions cannot have an attribute of the signature.
 */
export function packedKernel({ signature, packed, gate, frames }: PackedTarget): Kernel<unknown, PackedFunc> {
  const { source } = signature
  if (source === 'none' || source === 'tvm-ffi') return positionalKernel(signature, packed, gate)
  checkPackedAttributes(signature)
  return makeKernel<PackedCall, PackedFunc, unknown>(signature, packed, {
    frames: { limit: frames, gate },
    refusePrepare: () => refusePrepare(signature),
    prepare: (shape) => preparePackedCall(signature, { gate }, shape),
    run: (call, list) => {
      try {
        enterAll(call.gated)
        try {
          packed(...call.order(tensorsOf(list)))
        } finally {
          exitAll(call.gated)
        }
      } finally {
        call.frame.running = false
      }
    },
    runAsync: async (call, list, { signal }) => {
      const args = call.order(tensorsOf(list))
      enterAll(call.gated)
      try {
        await (signal === undefined ? packed : packed.with({ signal })).async(...args)
      } finally {
        exitAll(call.gated)
      }
    },
  })
}

function refusePrepare({ name }: KernelSignature): never {
  throw new ArgumentError(
    `${name} must be called without prepare(), because packed functions do not have prepared calls`,
    {
      hint: 'Call the kernel itself, which keeps what it has prepared for calls with the same types and attributes.',
      details: { path: name },
    },
  )
}

/** Makes a kernel that passes its arguments to the packed function unchanged. */
function positionalKernel(signature: KernelSignature, packed: PackedFunc, gate: Gate): Kernel<unknown, PackedFunc> {
  const call = (...values: Argument[]): unknown => {
    gate.enter()
    try {
      return packed(...values)
    } finally {
      gate.exit()
    }
  }
  const async = async (...values: Argument[]): Promise<unknown> => {
    gate.enter()
    try {
      return await packed.async(...values)
    } finally {
      gate.exit()
    }
  }
  const prepare = (): never => refusePrepare(signature)
  const members = { async, prepare, signature, handler: packed, name: signature.name }
  for (const [key, value] of Object.entries(members)) Object.defineProperty(call, key, { value })
  return call as unknown as Kernel<unknown, PackedFunc>
}
