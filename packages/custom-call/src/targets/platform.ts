import { didYouMean, wrongType } from '@tenon/core/internal'
import type { XlaError } from '../errors/xla-error.ts'
import { refused } from '../errors/xla-error-classes.ts'

/** Device types by canonical platform, as DLPack numbers them. */
const DEVICE_TYPES: Readonly<Record<string, number>> = { host: 1, cuda: 2, rocm: 10 }

/** Returns the name under which typed handlers are kept: in lower case, with the short names replaced. */
export function canonicalPlatform(platform: string): string {
  if (typeof platform !== 'string') throw wrongType('platform', 'the name of a platform', platform)
  const lower = platform.toLowerCase()
  return lower === 'cpu' ? 'host' : lower === 'gpu' ? 'cuda' : lower
}

/** Returns the device type of a handler's platform. @throws {UnimplementedError} if the platform is unknown. */
export function deviceTypeOf(platform: string, target: string): number {
  const type = DEVICE_TYPES[canonicalPlatform(platform)]
  if (type !== undefined) return type
  const text = `${target} is a handler for ${platform}, only those for Host, CUDA and ROCM can be called`
  throw refused('UNIMPLEMENTED', target, text)
}

/**
 * The error of a target that is not registered. XLA has its own text, and on devices its own code, for each kind of call.
 *
 * @param names the registered targets, of which the hint names similar ones.
 */
export function missing(target: string, platform: string, isTyped: boolean, names: readonly string[]): XlaError {
  const hint = didYouMean(target, names)
  if (!isTyped) {
    const text = `No registered implementation for untyped custom call to ${target} for ${platform}`
    return refused('NOT_FOUND', target, text, { hint })
  }
  const canonical = canonicalPlatform(platform)
  const text = `No FFI handler registered for ${target} on a platform ${platform} (canonical ${canonical})`
  return refused(canonical === 'host' ? 'NOT_FOUND' : 'UNIMPLEMENTED', target, text, { hint })
}
