import { ToolError } from './tool-error.ts'
import type { Variant } from './targets.ts'

const variants: readonly Variant[] = ['release', 'debug', 'asan', 'tsan', 'fuzz', 'libfuzzer']

/**
 * Reads the name of a variant; nothing at all means `release`.
 *
 * @throws {ToolError} for any other word.
 */
export function parseVariant(word: string | undefined): Variant {
  const variant = variants.find((candidate) => candidate === (word || 'release'))
  if (!variant) throw new ToolError(`There is no variant ${word}: it is one of ${variants.join(', ')}`)
  return variant
}
