import { wrongType } from '../../errors/check-arguments.ts'
import { didYouMean } from '@tenon/binary/internal'
import { FUNCTIONS } from '../../generated/functions.ts'
import { STRUCTS } from '../../generated/structs.ts'
import { coreLibrary } from '../core-library.ts'
import { checkKoffi } from '../driver/check-koffi.ts'
import type { Koffi } from '../driver/koffi.ts'

const functions: typeof FUNCTIONS.tenon = FUNCTIONS.tenon

/** The name of a function of the core. */
export type CoreFunctionName = keyof typeof functions

/** The name of a struct of the core, of XLA's FFI, of DLPack or of TVM's FFI. */
export type CoreStructName = keyof typeof STRUCTS

/** A pointer that functions of koffi accept. */
export type KoffiPointer = bigint | ArrayBufferLike | ArrayBufferView | null

type ArgumentOf<Type> = Type extends 'const char *'
  ? string | KoffiPointer
  : Type extends 'void *'
    ? KoffiPointer
    : number | bigint

type ArgumentsOf<Types extends readonly unknown[]> = { -readonly [Index in keyof Types]: ArgumentOf<Types[Index]> }

type ResultOf<Type> = Type extends 'void'
  ? void
  : Type extends 'void *' | 'const char *'
    ? bigint | null
    : Type extends 'int32_t' | 'uint32_t'
      ? number
      : number | bigint

/** A function of the core as koffi calls it. Pointers in results are bigints, or null. */
export type KoffiCoreFunction<Name extends CoreFunctionName> = (
  ...values: ArgumentsOf<(typeof functions)[Name][1]>
) => ResultOf<(typeof functions)[Name][0]>

/** A type of koffi. */
export type KoffiType = ReturnType<Koffi['struct']>

/** The C interface of the native core for koffi: that of this version, which a later one can change. */
export interface KoffiCore {
  /** The path of the library. */
  readonly path: string
  /**
   * Declares a function of the core. Calls are not checked: the headers in `csrc/include` say what each function needs.
   *
   * @throws {ArgumentError} if the core has no function of this name.
   */
  func<Name extends CoreFunctionName>(name: Name): KoffiCoreFunction<Name>
  /**
   * Returns the type of a struct, which is made once. Pointers are `void *`. Anonymous unions are members such as `union_8`, which
   * have the offset in their name.
   *
   * @throws {ArgumentError} if there is no struct of this name.
   */
  struct(name: CoreStructName): KoffiType
}

/** A member of a struct in the generated table. */
type Member =
  | string
  | readonly [type: string, count: number]
  | { readonly struct: Members }
  | { readonly union: Members }

interface Members {
  readonly [name: string]: Member
}

/** Maps each koffi to its types, because koffi never frees a type. */
const known = new WeakMap<Koffi, KoffiCore>()

/**
 * Describes the functions and structs of the native core to koffi, from the tables that are generated from the C headers.
 *
 * @param koffi the module, as `import koffi from 'koffi'` gives it.
 * @throws {LoadError} if the core cannot be loaded, or the version of koffi is not supported. @throws {ArgumentError}
 * @example
 * const core = koffiCore(koffi)
 * const version = koffi.decode.string(core.func('tn_version')())
 * koffi.sizeof(core.struct('DLTensor')) // 48
 */
export function koffiCore(koffi: Koffi): KoffiCore {
  checkKoffi(koffi)
  let core = known.get(koffi)
  if (core === undefined) known.set(koffi, (core = describe(koffi)))
  return core
}

function describe(koffi: Koffi): KoffiCore {
  const { path } = coreLibrary()
  const library = koffi.load(path)
  const structs = new Map<string, KoffiType>()
  const typeOf = (member: Member): KoffiType | string => {
    if (typeof member === 'string') return member in STRUCTS ? struct(member as CoreStructName) : member
    if ('struct' in member) return koffi.struct(membersOf(member.struct))
    if ('union' in member) return koffi.union(membersOf(member.union))
    return koffi.array(typeOf(member[0]), member[1])
  }
  const membersOf = (members: Members): Record<string, KoffiType | string> =>
    Object.fromEntries(Object.entries(members).map(([name, member]) => [name, typeOf(member)]))
  const struct = (name: CoreStructName): KoffiType => {
    checkKnown(name, STRUCTS, 'a struct of the core')
    let type = structs.get(name)
    if (type === undefined) structs.set(name, (type = koffi.struct(membersOf(STRUCTS[name]))))
    return type
  }
  const func = <Name extends CoreFunctionName>(name: Name): KoffiCoreFunction<Name> => {
    checkKnown(name, functions, 'a function of the core')
    const [result, parameters] = functions[name]
    // koffi would read text up to a terminator, which not every result has.
    return library.func(name, result === 'const char *' ? 'void *' : result, [...parameters]) as KoffiCoreFunction<Name>
  }
  return { path, func, struct }
}

function checkKnown(name: unknown, table: object, what: string): void {
  if (typeof name === 'string' && Object.hasOwn(table, name)) return
  const hint = typeof name === 'string' ? didYouMean(name, Object.keys(table)) : undefined
  throw wrongType('name', `the name of ${what}`, name, hint)
}
