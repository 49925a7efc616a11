import { createRequire } from 'node:module'
import { UnsupportedError, type KernelSignature } from '@tenon/core'
import { hasStringClass } from '@tenon/core/internal'

/**
 * Loads the class of string tensors, unless the program has imported it, for a kernel that returns strings. Programs that call no such kernel
 * do not load it.
 *
 * @throws {UnsupportedError} in a bundle that does not contain the class.
 */
export function loadStringClass({ results }: KernelSignature): void {
  if (hasStringClass() || results.every(({ stringLayout }) => stringLayout === undefined)) return
  try {
    createRequire(import.meta.url)('@tenon/tstring')
  } catch (cause) {
    throw new UnsupportedError('a kernel that returns strings needs @tenon/tstring, which cannot be loaded', {
      hint: "Write import 'tenon/tstring' in the program, so that its bundle contains the class.",
      cause,
    })
  }
}
