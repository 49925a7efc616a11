import { NativeLibrary } from '@tenon/core'
import { functionAt, siblingPath, type LibraryFunctions } from '@tenon/core/internal'

type AllFunctions = LibraryFunctions<'tenon_packed'>

/**
 * The functions that can run an object's own code, such as its destructor. Such code can call functions of TypeScript, which
 * must not run inside a call of koffi. Each throws what an upcall stub has thrown meanwhile.
 */
export type EnteredFunctions = Pick<
  AllFunctions,
  | 'tn_packed_release'
  | 'tn_packed_clear_owned'
  | 'tn_packed_own'
  | 'tn_packed_call_owned'
  | 'tn_packed_set_global'
  | 'tn_packed_job_create'
  | 'tn_packed_job_submit'
  | 'tn_packed_job_finish'
  | 'tn_packed_answer'
>

/** Their results and numbers of parameters. */
const ENTERED: Readonly<Record<keyof EnteredFunctions, readonly ['int32' | 'void', number]>> = {
  tn_packed_release: ['void', 1],
  tn_packed_clear_owned: ['void', 2],
  tn_packed_own: ['int32', 3],
  tn_packed_call_owned: ['int32', 4],
  tn_packed_set_global: ['int32', 5],
  tn_packed_job_create: ['int32', 3],
  tn_packed_job_submit: ['int32', 3],
  tn_packed_job_finish: ['int32', 2],
  tn_packed_answer: ['void', 3],
}

/** The functions that run no code of objects, which koffi calls. */
export type PackedFunctions = Omit<AllFunctions, keyof EnteredFunctions>

/** Returns the address of a function of libtenon_packed, for calls that can run functions of TypeScript. */
export function packedAddress(name: keyof AllFunctions): number {
  return Number(NativeLibrary.open(siblingPath('tenon_packed')).symbol(name))
}

export function enteredFunctions(): EnteredFunctions {
  const entries = Object.entries(ENTERED).map(([name, [result, count]]) => {
    const parameters = Array.from({ length: count }, () => 'uint64' as const)
    return [name, functionAt(packedAddress(name as keyof EnteredFunctions), result, parameters)]
  })
  return Object.fromEntries(entries) as EnteredFunctions
}
