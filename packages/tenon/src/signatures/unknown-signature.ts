import type { KernelConvention, KernelSignature } from '@tenon/core'

/** The signature of a kernel about which only the convention is known. */
export function unknownSignature(name: string, convention: KernelConvention): KernelSignature {
  return {
    name,
    convention,
    source: 'none',
    operands: [],
    results: [],
    temps: [],
    attributes: [],
    conditions: [],
    stages: {},
    isAsync: false,
    packedOrder: undefined,
    doc: '',
    isComplete: false,
  }
}
