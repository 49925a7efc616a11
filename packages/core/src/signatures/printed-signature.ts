import { inspectCustom } from '../errors/inspect.ts'
import { formatSignature } from './format-signature.ts'
import type { KernelSignature } from './kernel-signature.ts'

const PRINTED: PropertyDescriptor = {
  value(this: KernelSignature): string {
    const { name, convention, source } = this
    const text = source === 'none' ? `: a ${convention} kernel without a signature` : formatSignature(this)
    return `${name}${text}`.replaceAll(/\p{Cc}/gu, ' ')
  },
}

/** Makes `console.log` print a signature in one line. @returns the signature */
export function printedAsText(signature: KernelSignature): KernelSignature {
  return Object.defineProperty(signature, inspectCustom, PRINTED)
}
