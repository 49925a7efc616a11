import { LoadError, type NativeLibrary } from '@tenon/core'
import { lastError } from '@tenon/core/internal'
import type { DefinitionText, RegisteredKernel, Registrations, TypeConstraint } from '../registration.ts'
import { openedHost, readBytes } from './host.ts'

const NONE: Registrations = Object.freeze({ kernels: Object.freeze([]), definitions: Object.freeze([]) })

/**
 * Runs the `TF_InitKernel()` of a library, once in the process, and lists the kernels that the library has registered and the
 * definitions of all operations.
 *
 * @throws {LoadError} if `TF_InitKernel()` throws
 */
export function readRegistrations(library: NativeLibrary): Registrations {
  const { handle, path } = library
  const host = openedHost()
  if (host === undefined) return NONE
  if (host.entered.tn_tf_initialize(handle) !== 0) {
    const reason = lastError()
    throw new LoadError(`TF_InitKernel() of the library ${path} threw a C++ exception: ${reason}`, {
      details: { path, tried: [{ path, reason }] },
    })
  }
  return parseRegistrations(readBytes(65_536, (...place) => void host.functions.tn_tf_list(handle, ...place)))
}

/** Reads the texts of `tn_tf_list()`. */
export function parseRegistrations(bytes: Buffer): Registrations {
  const texts = bytes.toString().split('\0').slice(0, -1)
  const kernels: (RegisteredKernel & { readonly constraints: TypeConstraint[] })[] = []
  const definitions: (DefinitionText & Record<'inputs' | 'outputs' | 'attributes', string[]>)[] = []
  const lists = { I: 'inputs', O: 'outputs', A: 'attributes' } as const
  let at = 0
  const next = (): string => texts[at++]!
  while (at < texts.length) {
    const tag = next()
    if (tag === 'K') {
      const [operation, device, label] = [next(), next(), next()]
      kernels.push({ operation, device, label, priority: Number(next()), index: Number(next()), constraints: [] })
    } else if (tag === 'C') kernels.at(-1)!.constraints.unshift({ attribute: next(), types: [Number(next())] })
    else if (tag === 'D') definitions.push({ name: next(), inputs: [], outputs: [], attributes: [] })
    else definitions.at(-1)![lists[tag as keyof typeof lists]].push(next())
  }
  return { kernels, definitions }
}
