import type { KernelConvention } from '@tenon/core'

/** The symbol of tenon/signature.h beside a kernel, which contains the text of the signature, ends in this. */
export const SIGNATURE_SUFFIX = '__tn_signature'

/** The marks of tenon/xla_mark.h: symbols that are exported beside a function, with the name of the function and this suffix. */
const MARKS: ReadonlyMap<string, KernelConvention> = new Map([
  ['__xla_ffi', 'typed'],
  ['__xla_host', 'host'],
  ['__xla_host_status', 'host-status'],
  ['__xla_host_unified', 'host-unified'],
])

/** Whether a symbol is the text of a kernel's signature. */
export const isSignatureSymbol = (name: string): boolean => name.endsWith(SIGNATURE_SUFFIX)

/** Returns the function that a symbol marks, and its convention. Undefined for other symbols. */
export function readMark(symbol: string): { readonly name: string; readonly convention: KernelConvention } | undefined {
  const at = symbol.lastIndexOf('__')
  const convention = MARKS.get(symbol.slice(at))
  return convention === undefined ? undefined : { name: symbol.slice(0, at), convention }
}
