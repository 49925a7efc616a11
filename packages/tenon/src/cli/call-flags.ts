import type { CallConvention } from './call-conventions.ts'

/** The values of the options of `tenon call`, apart from the attributes of a kernel. */
export interface CallFlags {
  readonly library: string
  readonly symbol: string
  readonly arg: readonly string[]
  readonly out: readonly string[]
  readonly attr: readonly string[]
  readonly result: readonly string[]
  readonly opaque: string | undefined
  readonly abi: CallConvention | 'packed' | undefined
  readonly stage: readonly string[]
  readonly registered: boolean
  readonly alias: readonly string[]
  readonly 'host-scratch': boolean
  readonly 'cuda-driver': string | undefined
  readonly 'allow-newer-api': boolean
  readonly repeat: string | undefined
  readonly isolate: boolean
  readonly deadline: string | undefined
  readonly memory: string | undefined
  readonly guard: boolean
  readonly workers: string | undefined
  readonly json: boolean
}
