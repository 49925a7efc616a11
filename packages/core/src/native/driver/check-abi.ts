import { LoadError } from '../../errors/kinds.ts'
import { CONSTANTS } from '../../generated/layouts.ts'

/** Checks the version of a core before anything else of it is used, because another version has other functions. */
export function checkAbi(path: string, version: number): void {
  const expected = CONSTANTS.TN_ABI_VERSION
  if (version === expected) return
  throw new LoadError(`the native core at ${path} must have ABI version ${expected}, got ${version}`, {
    hint: 'Install @tenon/core and its platform package in the same version.',
  })
}
