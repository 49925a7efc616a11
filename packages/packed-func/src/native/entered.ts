import { enteredFunctions, libraryFunctionAddress, type Entered, type LibraryFunctions } from '@tenon/core/internal'

type AllFunctions = LibraryFunctions<'tenon_packed'>

/**
 * The functions that can run code of others, such as the destructor of an object or the constructors of a library. Each throws what an upcall
 * stub has thrown meanwhile.
 */
export type EnteredFunctions = Pick<
  AllFunctions,
  | 'tn_packed_release'
  | 'tn_packed_release_place'
  | 'tn_packed_clear_owned'
  | 'tn_packed_own'
  | 'tn_packed_call_owned'
  | 'tn_packed_set_global'
  | 'tn_packed_job_create'
  | 'tn_packed_job_submit'
  | 'tn_packed_job_finish'
  | 'tn_packed_answer'
  | 'tn_packed_open_library'
  | 'tn_packed_delete_dlpack'
>

const ENTERED: Entered<keyof EnteredFunctions & string> = {
  tn_packed_release: ['void', 1],
  tn_packed_release_place: ['void', 1],
  tn_packed_clear_owned: ['void', 2],
  tn_packed_own: ['int32', 3],
  tn_packed_call_owned: ['int32', 4],
  tn_packed_set_global: ['int32', 5],
  tn_packed_job_create: ['int32', 3],
  tn_packed_job_submit: ['int32', 3],
  tn_packed_job_finish: ['int32', 2],
  tn_packed_answer: ['void', 3],
  tn_packed_open_library: ['int32', 3],
  tn_packed_delete_dlpack: ['void', 1],
}

/** The functions that run only code of this library. */
export type PackedFunctions = Omit<AllFunctions, keyof EnteredFunctions>

/** Returns the address of a function of libtenon_packed, for calls that can run functions of TypeScript. */
export function packedAddress(name: keyof AllFunctions): number {
  return libraryFunctionAddress('tenon_packed', name)
}

export const findEntered = (): EnteredFunctions => enteredFunctions(ENTERED, packedAddress) as EnteredFunctions
