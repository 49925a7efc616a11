import type { BinaryInfo } from '@tenon/core'

/** The calling conventions of device custom calls. Libraries do not mark these. */
export const deviceConventions: ['cuda', 'cuda-status', 'cuda-typed'] = ['cuda', 'cuda-status', 'cuda-typed']
export type DeviceConvention = (typeof deviceConventions)[number]

export const conventions: ['typed', 'host', 'host-status', 'host-unified'] = [
  'typed',
  'host',
  'host-status',
  'host-unified',
]

/** The calling convention of a custom call. */
export type CallConvention = (typeof conventions)[number]

/** A function that its library marks as a custom call. */
export interface MarkedCall {
  readonly name: string
  readonly convention: CallConvention
}

/** The marks of tenon/xla_mark.h: symbols that are exported beside a function, with its name and this suffix. */
const marks: readonly (readonly [suffix: string, convention: CallConvention])[] = [
  ['__xla_ffi', 'typed'],
  ['__xla_host', 'host'],
  ['__xla_host_status', 'host-status'],
  ['__xla_host_unified', 'host-unified'],
]

/** The signature of tenon/signature.h. Without another mark, its function is a typed handler. */
const SIGNATURE = '__tn_signature'

/** The custom calls that a library marks, sorted by name. No function is called. */
export function markedCalls({ exports }: BinaryInfo): MarkedCall[] {
  const names = new Set(exports.map(({ name }) => name))
  const suffixes = [...marks.map(([suffix]) => suffix), SIGNATURE]
  const marked = suffixes.flatMap((suffix) =>
    [...names].filter((name) => name.endsWith(suffix)).map((name) => name.slice(0, -suffix.length)),
  )
  const functions = [...new Set(marked)].filter((name) => names.has(name))
  return functions.toSorted().flatMap((name): MarkedCall[] => {
    const calls = marks.flatMap(([suffix, convention]) => (names.has(name + suffix) ? [{ name, convention }] : []))
    const isTyped = calls.length === 0 && names.has(name + SIGNATURE) && !names.has(`__tvm_ffi_${name}`)
    return isTyped ? [{ name, convention: 'typed' }] : calls
  })
}

export function isMark(name: string): boolean {
  return marks.some(([suffix]) => name.endsWith(suffix))
}
