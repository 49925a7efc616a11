import { dirname, join } from 'node:path'
import { Tensor, TenonError } from '@tenon/core'
import { coreLibrary } from '@tenon/core/internal'

/** The path of a library that only tests use, beside the core. */
export const fixturePath = (name: string): string => join(dirname(coreLibrary().path), `lib${name}.so`)

/** A value as plain data: tensors with their types and bits, errors with what programs read from them. */
export function plain(value: unknown): unknown {
  if (value instanceof Tensor) {
    const { block, base, type } = value.contiguous()
    return {
      type: String(value.type),
      bytes: Buffer.from(block.bytes.subarray(base, base + type.byteSize)).toString('hex'),
    }
  }
  if (value instanceof TenonError) {
    const { name, code, sentence, hint, cause } = value
    const { worker: _, ...details } = value.details
    return { name, kinds: kindsOf(value), code, sentence, hint, details: plain(details), cause: plain(cause) }
  }
  if (value instanceof Error) return { name: value.name, message: value.message }
  if (Array.isArray(value)) return value.map(plain)
  if (value instanceof Map) return new Map([...value].map(([key, one]) => [plain(key), plain(one)]))
  if (typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype) {
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plain(one)]))
  }
  return value
}

/** The names of the classes of an error, up to TenonError. */
function kindsOf(error: Error): string[] {
  const names: string[] = []
  for (let at: object = Object.getPrototypeOf(error) as object; at !== Error.prototype;) {
    names.push(at.constructor.name)
    at = Object.getPrototypeOf(at) as object
  }
  return names
}

/** What a call returns or throws, as plain data. */
export function outcome(call: () => unknown): unknown {
  try {
    return { value: plain(call()) }
  } catch (error) {
    return { error: plain(error) }
  }
}

/** Likewise what it resolves to or rejects with. */
export async function outcomeAsync(call: () => Promise<unknown>): Promise<unknown> {
  try {
    return { value: plain(await call()) }
  } catch (error) {
    return { error: plain(error) }
  }
}

/** The error that a call throws. */
export async function errorOf(call: () => unknown): Promise<TenonError> {
  try {
    await call()
  } catch (error) {
    return error as TenonError
  }
  throw new Error('nothing was thrown')
}
