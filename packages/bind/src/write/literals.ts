import type { Constant } from '../model/constant.ts'

const MAXIMUM_SAFE = BigInt(Number.MAX_SAFE_INTEGER)

/** A constant as text of a module, and its type. */
export function literalOf(constant: Constant): { readonly value: string; readonly type: string } {
  switch (constant.kind) {
    case 'integer': {
      const isSafe = constant.value <= MAXIMUM_SAFE && constant.value >= -MAXIMUM_SAFE
      const value = `${constant.value}${isSafe ? '' : 'n'}`
      return { value, type: value }
    }
    case 'real':
      return { value: Object.is(constant.value, -0) ? '-0' : String(constant.value), type: 'number' }
    case 'text':
      return { value: JSON.stringify(constant.value), type: JSON.stringify(constant.value) }
    case 'bytes':
      return { value: `Uint8Array.of(${constant.value.join(', ')})`, type: 'Uint8Array' }
    case 'pointer':
      return { value: `NativeModule.pointer(${constant.value}n)`, type: 'MemorySegment' }
  }
}
