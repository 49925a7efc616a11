import { ArgumentError, SignatureError } from '@tenon/core'
import { checkOptions, wrongType } from '@tenon/core/internal'
import { parseDefinition } from './definition.ts'
import type { OperationDefinition } from './operation.ts'
import type { DefinitionText } from './registration.ts'

/** The definition of an operation in the notation of TensorFlow, for a kernel whose library does not define its operation. */
export interface OperationText {
  /** The operands: `features: T`. */
  readonly inputs?: readonly string[]
  /** The results: `activations: T`. */
  readonly outputs?: readonly string[]
  /** The attributes: `T: {float, half}`. */
  readonly attrs?: readonly string[]
}

/** The places that can have the definition of an operation. */
export interface DefinitionSources {
  readonly option?: OperationText | undefined
  readonly library?: DefinitionText | undefined
  readonly sidecar?: OperationText | undefined
}

/** The definition of an operation, and the texts that could not be read. */
export interface FoundDefinition {
  readonly operation: OperationDefinition | undefined
  /** The place of the definition. */
  readonly source: 'option' | 'library' | 'sidecar' | 'none'
  readonly unreadable: readonly { readonly source: 'library' | 'sidecar'; readonly reason: string }[]
}

/** Checks the option `definition` of a kernel, or the definition in a sidecar. @throws {ArgumentError} */
export function checkOperationText(value: unknown, name: string): OperationText {
  const {
    inputs = [],
    outputs = [],
    attrs = [],
  } = checkOptions(value as OperationText, ['inputs', 'outputs', 'attrs'], name)
  const lists = { inputs, outputs, attrs }
  for (const [key, list] of Object.entries<unknown>(lists)) {
    if (Array.isArray(list) && list.every((text) => typeof text === 'string')) continue
    throw wrongType(
      `${name}.${key}`,
      'an array of strings',
      list,
      "Write { inputs: ['x: T'], outputs: ['y: T'], attrs: ['T: type'] }.",
    )
  }
  return lists
}

/**
 * Finds the definition of an operation: that of the option, else of the library, else of the sidecar.
 *
 * @throws {SignatureError} if the definition of the option cannot be read
 */
export function findDefinition(name: string, { option, library, sidecar }: DefinitionSources): FoundDefinition {
  const textOf = ({ inputs = [], outputs = [], attrs = [] }: OperationText): DefinitionText => ({
    name,
    inputs,
    outputs,
    attributes: attrs,
  })
  if (option !== undefined) return { operation: parseDefinition(textOf(option)), source: 'option', unreadable: [] }
  const unreadable: { source: 'library' | 'sidecar'; reason: string }[] = []
  for (const [source, text] of [
    ['library', library],
    ['sidecar', sidecar && textOf(sidecar)],
  ] as const) {
    if (text === undefined) continue
    try {
      return { operation: parseDefinition(text), source, unreadable }
    } catch (error) {
      if (!(error instanceof SignatureError)) throw error
      unreadable.push({ source, reason: error.sentence })
    }
  }
  return { operation: undefined, source: 'none', unreadable }
}

/** Returns the error for a call of an operation without a definition. */
export function noDefinition(name: string, { unreadable }: FoundDefinition, path: string): ArgumentError {
  const reasons = unreadable.map(({ source, reason }) => `that of the ${source} cannot be read: ${reason}`).join('; ')
  return new ArgumentError(
    `${name} must have a definition, got none from ${path}${reasons === '' ? '' : `: ${reasons}`}`,
    {
      hint: `Pass the definition: library.kernel(${JSON.stringify(name)}, { definition: { inputs: ['x: T'], outputs: ['y: T'], attrs: ['T: type'] } }).`,
      details: { path, name },
    },
  )
}
