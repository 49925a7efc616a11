import type { BinaryInfo } from '@tenon/core'

/** How custom calls of devices are called. No library says so of its functions. */
export const deviceConventions: ['cuda', 'cuda-status', 'cuda-typed'] = ['cuda', 'cuda-status', 'cuda-typed']
export type DeviceConvention = (typeof deviceConventions)[number]

/** How custom calls are called. */
export const conventions: ['typed', 'host', 'host-status', 'host-unified'] = [
  'typed',
  'host',
  'host-status',
  'host-unified',
]

/** How a custom call is called. */
export type CallConvention = (typeof conventions)[number]

/** A function that its library says is a custom call. */
export interface MarkedCall {
  readonly name: string
  readonly convention: CallConvention
}

/** The marks of tenon/xla_mark.h: what is exported beside a function, under its name and this suffix. */
const marks: readonly (readonly [suffix: string, convention: CallConvention])[] = [
  ['__xla_ffi', 'typed'],
  ['__xla_host', 'host'],
  ['__xla_host_status', 'host-status'],
  ['__xla_host_unified', 'host-unified'],
]

/** The custom calls that a library marks, sorted by name. Nothing is called to find out. */
export function markedCalls({ exports }: BinaryInfo): MarkedCall[] {
  const names = new Set(exports.map(({ name }) => name))
  return [...names]
    .toSorted()
    .flatMap((name) =>
      marks.flatMap(([suffix, convention]) => (names.has(name + suffix) ? [{ name, convention }] : [])),
    )
}

/** Whether a symbol is such a mark. */
export function isMark(name: string): boolean {
  return marks.some(([suffix]) => name.endsWith(suffix))
}
