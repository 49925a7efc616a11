import { readBinary, type BinaryInfo, type KernelSignature } from '@tenon/core'
import { registeredNames } from '@tenon/custom-call'
import { isDeclarable } from '@tenon/packed-func'
import { Library } from '../library.ts'
import { packedFunctions } from '../packed-functions.ts'
import { isCallable } from '../signatures/is-callable.ts'
import { readSignatures } from '../signatures/read-signatures.ts'
import { usedNames, type Exported } from './generate-types.ts'
import { InputError } from './input-error.ts'
import { openModule } from './open-module.ts'

/** Kernels that are not exported, and why. */
export interface LeftOut {
  readonly reason: string
  readonly names: readonly string[]
}

/**
 * The kernels and packed functions of a library that have types. The library is loaded only for the metadata of packed functions
 * that have no complete signature, and for `registered`.
 *
 * @throws {InputError} if there are none
 */
export function describeLibrary(path: string, registered: boolean): { exported: Exported; left: readonly LeftOut[] } {
  const info = readBinary(path)
  const known = registered ? namesRegisteredBy(path) : undefined
  const found = readSignatures(path, info)
  const reachable = found.filter(({ signature, symbol, platform }) =>
    symbol === undefined && platform === undefined ? known?.has(signature.name) : true,
  )
  const [kernels, unnamed] = partition(reachable.map(({ signature }) => signature).filter(isCallable))
  const [functions, unnamedFunctions] = partition(functionsWithout(path, info, [...kernels, ...unnamed]))
  const silent = found.filter(({ signature }) => !isCallable(signature) && !isPacked(signature))
  const left = [
    {
      reason: 'the names cannot be exported from a module',
      names: [...unnamed, ...unnamedFunctions].map(({ name }) => name),
    },
    { reason: 'their signatures are not known', names: silent.map(({ signature }) => signature.name) },
    {
      reason: 'the library does not export them, pass --registered to look for registered handlers',
      names: found.filter((one) => !reachable.includes(one)).map(({ signature }) => signature.name),
    },
  ].filter(({ names }) => names.length > 0)
  if (kernels.length === 0 && functions.length === 0) {
    throw new InputError(
      `${path} does not describe its kernels`,
      `Add a TN_SIGNATURE beside each kernel, or a sidecar. Run tenon inspect ${path} to see the functions of the library.`,
    )
  }
  return { exported: { kernels, functions }, left }
}

const isPacked = ({ convention }: KernelSignature): boolean => convention === 'packed' || convention === 'legacy'

function partition<Named extends { readonly name: string }>(all: readonly Named[]): [valid: Named[], invalid: Named[]] {
  const isValid = ({ name }: Named): boolean => isDeclarable(name) && !name.includes('$') && !usedNames.has(name)
  return [all.filter(isValid), all.filter((one) => !isValid(one))]
}

/** The packed functions that no signature describes. */
function functionsWithout(
  path: string,
  info: BinaryInfo,
  described: readonly KernelSignature[],
): Exported['functions'] {
  const names = new Set(packedFunctions(info).names)
  for (const { name } of described) names.delete(name)
  if (names.size === 0) return []
  const module = openModule(path)
  return [...names].map((name) => ({ name, metadata: module.metadata(name), doc: module.doc(name) }))
}

function namesRegisteredBy(path: string): ReadonlySet<string> {
  const library = Library.open(path)
  try {
    return new Set(registeredNames().map(({ name }) => name))
  } finally {
    library.close()
  }
}
