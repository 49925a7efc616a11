import type { KernelSignature, TensorType } from '@tenon/core'
import { resolveCall } from '@tenon/core/internal'
import { typesFor } from './model-tensor.ts'

/** Remembers the types that were checked last. Types are interned, so equal types are the same object. */
export function onceForEach(check: (types: readonly TensorType[]) => void): (types: readonly TensorType[]) => void {
  let last: readonly TensorType[] | undefined
  return (types) => {
    if (last?.length === types.length && last.every((type, i) => type === types[i])) return
    check(types)
    last = types
  }
}

/** Returns the function that checks the types of the inputs and the outputs of a run. */
export function resultCheck(signature: KernelSignature): (types: readonly TensorType[]) => void {
  const count = signature.operands.length
  return onceForEach((types) => {
    const operands = typesFor(signature.operands, types.slice(0, count))
    resolveCall(signature, { operands, attributes: {}, results: typesFor(signature.results, types.slice(count)) })
  })
}
