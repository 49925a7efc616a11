import { createRequire } from 'node:module'
import type * as MessagePack from '@msgpack/msgpack'
import { LoadError, type TensorType } from '@tenon/core'
import { CONSTANTS, STATUS, type RemoteAnswer, type RemoteKernel } from '@tenon/core/internal'

/** MessagePack, whose 14 modules load with the first kernel of a script. */
const messagePack = (): typeof MessagePack => createRequire(import.meta.url)('@msgpack/msgpack') as typeof MessagePack

/**
 * Encodes the types of the tensors and the attributes, as a worker in Node.js reads them.
 *
 * @param stringClass returns the path of the module with the class of string tensors. It is called for a kernel with strings.
 */
export function encodeScript(
  operands: readonly (TensorType | null)[],
  results: readonly (TensorType | null)[],
  attributes: Readonly<Record<string, unknown>>,
  stringClass: () => string,
): Uint8Array {
  const facts = (types: readonly (TensorType | null)[]): unknown =>
    types.map((type) => {
      if (type === null) return null
      const { dtype, shape, strings } = type
      return strings === undefined ? [dtype, shape] : [dtype, strings.shape, strings.layout]
    })
  const hasStrings = [...operands, ...results].some((type) => type?.strings !== undefined)
  // A number is encoded as a float, so that it is read as a number whatever its size.
  return messagePack().encode(
    {
      operands: facts(operands),
      results: facts(results),
      attributes: plain(attributes),
      ...(hasStrings ? { stringClass: stringClass() } : {}),
    },
    { useBigInt64: true, forceIntegerToFloat: true },
  )
}

/** Returns a value whose typed arrays are arrays, because MessagePack has bytes alone. */
function plain(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value
  if (Array.isArray(value) || ArrayBuffer.isView(value)) return Array.from(value as ArrayLike<unknown>, plain)
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)]))
}

/** The value that a function of a script has thrown, as `error`; undefined for an answer of another kind. */
export function scriptThrown({ error, body }: RemoteAnswer): Error | undefined {
  if (error !== CONSTANTS.TN_HOST_SCRIPT_ERROR) return undefined
  let parts: unknown
  try {
    parts = messagePack().decode(body)
  } catch {
    // A damaged worker can answer anything.
  }
  const [name, message, stack] = Array.isArray(parts) ? (parts as readonly unknown[]).map(String) : []
  return Object.assign(new Error(message), { name, stack })
}

/** The error of a script that does not export a function; undefined for an answer of another kind. */
export function missingExport({ library, symbols }: RemoteKernel, answer: RemoteAnswer): LoadError | undefined {
  if (answer.status !== STATUS.NOT_FOUND.value || answer.error === CONSTANTS.TN_HOST_SCRIPT_ERROR) return undefined
  return new LoadError(`cannot call ${symbols[3]} of ${library}: ${Buffer.from(answer.body).toString()}`, {
    hint: 'Export the function, or call kernel() with the name of another export.',
    details: { path: library, symbol: symbols[3] },
  })
}
