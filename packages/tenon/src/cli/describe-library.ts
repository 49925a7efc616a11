import { resolve } from 'node:path'
import { type KernelSignature } from '@tenon/core'
import { readBinary, type BinaryInfo } from '@tenon/binary'
import { registeredNames } from '@tenon/custom-call'
import { isDeclarable } from '@tenon/packed-func'
import { classNameOf } from '@tenon/packed-func/internal'
import { Library } from '../library.ts'
import { packedFunctions } from '../packed-functions.ts'
import { exportNames } from '../registered/export-names.ts'
import { below, NOTHING, registeredBy, registersWithTvm, type NamedRegistered } from '../registered/registered.ts'
import { usesTensorFlow } from '@tenon/tensorflow/internal'
import { isCallable } from '../signatures/is-callable.ts'
import { readSignatures, type FoundSignature, type UnreadableText } from '../signatures/read-signatures.ts'
import type { Exported } from './generate-types.ts'
import { InputError } from './input-error.ts'
import { openModule } from './open-module.ts'
import { printable } from './terminal.ts'
import { usedNames } from './used-names.ts'

/** What is not exported, and why. */
export interface LeftOut {
  readonly reason: string
  readonly names: readonly string[]
}

/** What to describe of a library. */
export interface DescribeOptions {
  /** Whether to load the library, and to include the handlers, types and functions that it registers itself. */
  readonly registered: boolean
  /** Only types and functions below this key are included, of those that are registered with tvm-ffi. */
  readonly prefix?: string | undefined
  /** Whether a library without kernels is described as well. */
  readonly mayBeEmpty?: boolean
}

/**
 * The kernels and packed functions of a library that have types, and what it registers. The library is loaded only for the
 * metadata of packed functions that have no complete signature, and for `registered`.
 *
 * @throws {InputError} if there are none, unless `mayBeEmpty`
 */
export function describeLibrary(
  path: string,
  { registered, prefix, mayBeEmpty = false }: DescribeOptions,
): { exported: Exported; left: readonly LeftOut[] } {
  const info = readBinary(path)
  // What is registered is found by comparing before and after, so that nothing else may load the library first.
  const added = registered ? registeredBy(path, info) : NOTHING
  const known = registered ? namesRegisteredBy(path) : undefined
  const operations = registered && usesTensorFlow(info) ? operationsIn(path) : []
  const found = readSignatures(path, info)
  const reachable = found.filter(({ signature, symbol, platform }) =>
    symbol === undefined && platform === undefined ? known?.has(signature.name) : true,
  )
  const [kernels, unnamed] = partition(
    [...reachable.map(({ signature }) => signature), ...operations].filter(isCallable),
  )
  const [functions, unnamedFunctions] = partition(functionsWithout(path, info, [...kernels, ...unnamed]))
  const silent = found.filter(({ signature }) => !isCallable(signature) && !isPacked(signature))
  const used = [...kernels, ...functions].map(({ name }) => name)
  const { types, functions: globals } = prefix === undefined ? added : below(prefix, added)
  const classes = exportNames(
    types.map(({ key }) => key),
    used,
    classNameOf,
  )
  const called = exportNames(
    globals.map(({ name }) => name),
    [...used, ...classes.names.values()],
  )
  const left = [
    {
      reason: 'the names cannot be exported from a module',
      names: [...[...unnamed, ...unnamedFunctions].map(({ name }) => name), ...classes.left, ...called.left],
    },
    {
      reason: 'their signatures are not known',
      names: silent.filter(({ unreadable }) => unreadable.length === 0).map(({ signature }) => signature.name),
    },
    ...silent.flatMap(({ signature: { name }, unreadable: [first] }) =>
      first === undefined ? [] : [{ reason: `its signature cannot be read: ${reasonOf(first)}`, names: [name] }],
    ),
    {
      reason: 'the library does not export them, pass --registered to look for registered handlers',
      names: found.filter((one) => !reachable.includes(one)).map(({ signature }) => signature.name),
    },
  ].filter((one) => one.names.length > 0)
  if (!mayBeEmpty && used.length + classes.names.size + called.names.size === 0) {
    throw nothingFound(path, info, registered, prefix, silent)
  }
  const named: NamedRegistered = {
    types: types.filter(({ key }) => classes.names.has(key)),
    functions: globals.filter(({ name }) => called.names.has(name)),
    classNames: classes.names,
    functionNames: called.names,
  }
  return { exported: { kernels, functions, registered: named }, left }
}

function nothingFound(
  path: string,
  info: BinaryInfo,
  registered: boolean,
  prefix: string | undefined,
  silent: readonly FoundSignature[],
): InputError {
  const wrong = silent.find(({ unreadable }) => unreadable.length > 0)
  if (wrong !== undefined) {
    const [first] = wrong.unreadable
    return new InputError(
      `the signature of ${wrong.signature.name} in ${path} cannot be read: ${reasonOf(first!)}`,
      `Correct the signature, which comes from the ${first!.source}.`,
    )
  }
  if ((registersWithTvm(info) || usesTensorFlow(info)) && !registered) {
    return new InputError(
      `${path} registers ${usesTensorFlow(info) ? 'kernels' : 'types and functions'} when it is loaded`,
      'Pass --registered to load the library and to include what it registers.',
    )
  }
  if (prefix !== undefined) {
    return new InputError(
      `${path} registers no type and no function below ${prefix}`,
      `Run tenon inspect ${path} --registered to see the names.`,
    )
  }
  return new InputError(
    `${path} does not describe its kernels`,
    `Add a TN_SIGNATURE beside each kernel, or a sidecar. Run tenon inspect ${path} to see the functions of the library.`,
  )
}

/** The first line of the reason. The others show the place in the text. */
const reasonOf = ({ reason }: UnreadableText): string => printable(reason.split('\n')[0]!)

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

/** The signatures of the kernels of TensorFlow's C API that a library registers. */
function operationsIn(path: string): readonly KernelSignature[] {
  const library = Library.open(resolve(path))
  try {
    return library.kernels().filter(({ convention }) => convention === 'tensorflow')
  } finally {
    library.close()
  }
}

function namesRegisteredBy(path: string): ReadonlySet<string> {
  const library = Library.open(resolve(path))
  try {
    return new Set(registeredNames().flatMap((one) => (one.convention === 'typed' ? one.name : [])))
  } finally {
    library.close()
  }
}
