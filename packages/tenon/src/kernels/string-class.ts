import { createRequire } from 'node:module'
import { UnsupportedError, type KernelSignature } from '@tenon/core'
import { hasStringClass, loadStringsWith } from '@tenon/core/internal'

// The results of kernels of TensorFlow whose element type is a variable are strings only if an operand or an attribute says so.
loadStringsWith(() => load())

/**
 * Loads the class of string tensors, unless the program has imported it, for a kernel that returns strings. Programs that call no such kernel
 * do not load it.
 *
 * @throws {UnsupportedError} in a bundle that does not contain the class.
 */
export function loadStringClass({ results }: KernelSignature): void {
  if (!hasStringClass() && results.some(({ stringLayout }) => stringLayout !== undefined)) load()
}

const load = (): void => void required((require, name) => require(name))

/** Returns the path of the module with the class of string tensors. @throws {UnsupportedError} in a bundle without `node_modules`. */
export const stringClassPath = (): string => required((require, name) => require.resolve(name))

function required<Result>(use: (require: NodeJS.Require, name: string) => Result): Result {
  try {
    return use(createRequire(import.meta.url), '@tenon/tstring')
  } catch (cause) {
    throw new UnsupportedError('a kernel of strings needs @tenon/tstring, which cannot be loaded', {
      hint: "Write import 'tenon/tstring' in the program, so that its bundle contains the class.",
      cause,
    })
  }
}
