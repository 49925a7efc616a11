import { createRequire } from 'node:module'
import { UnsupportedError, type KernelSignature } from '@tenon/core'
import { hasStringClass, loadStringsWith } from '@tenon/core/internal'

// The results of kernels of TensorFlow whose element type is a variable are strings only if an operand or an attribute says so.
loadStringsWith(load)

/**
 * Loads the class of string tensors, unless the program has imported it, for a kernel that returns strings. Programs that call no such kernel
 * do not load it.
 *
 * @throws {UnsupportedError} in a bundle that does not contain the class.
 */
export function loadStringClass({ results }: KernelSignature): void {
  if (!hasStringClass() && results.some(({ stringLayout }) => stringLayout !== undefined)) load()
}

function load(): void {
  try {
    createRequire(import.meta.url)('@tenon/tstring')
  } catch (cause) {
    throw new UnsupportedError('a kernel that returns strings needs @tenon/tstring, which cannot be loaded', {
      hint: "Write import 'tenon/tstring' in the program, so that its bundle contains the class.",
      cause,
    })
  }
}
