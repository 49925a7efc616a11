import type { KernelConvention, KernelSignature } from '@tenon/core'
import { printedAsText } from '@tenon/core/internal'

/** The signature of a kernel about which only the convention is known. */
export function unknownSignature(name: string, convention: KernelConvention): KernelSignature {
  return printedAsText({
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
  })
}
