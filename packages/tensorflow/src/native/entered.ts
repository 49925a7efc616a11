import { functionAt, type LibraryFunctions, type PlainFunction } from '@tenon/core/internal'

/** All functions of the host. */
export type HostFunctions = LibraryFunctions<'tenon_tensorflow'>

/** The functions that run code of kernels, which can need the large stack of native code and call functions of TypeScript. */
export type EnteredFunctions = Readonly<
  Record<
    | 'tn_tf_create'
    | 'tn_tf_delete'
    | 'tn_tf_end_exception'
    | 'tn_tf_initialize'
    | 'tn_tf_memory_release'
    | 'tn_tf_take',
    PlainFunction
  >
>

/** The numbers of their parameters. */
const ENTERED: Readonly<Record<keyof EnteredFunctions, number>> = {
  tn_tf_create: 3,
  tn_tf_delete: 1,
  tn_tf_end_exception: 2,
  tn_tf_initialize: 1,
  tn_tf_memory_release: 1,
  tn_tf_take: 1,
}

/** Returns the functions. @param find returns the address of one */
export function enteredFunctions(find: (name: keyof EnteredFunctions) => number): EnteredFunctions {
  const entries = Object.entries(ENTERED).map(([name, count]) => {
    const parameters = Array.from({ length: count }, () => 'uint64' as const)
    return [name, functionAt(find(name as keyof EnteredFunctions), 'int32', parameters)]
  })
  return Object.fromEntries(entries) as EnteredFunctions
}
