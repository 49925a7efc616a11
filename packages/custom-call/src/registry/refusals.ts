import type { XlaFailure } from '../errors/xla-error.ts'
import type { XlaError } from '../errors/xla-error.ts'
import {
  AlreadyExistsError,
  InvalidArgumentError,
  NotFoundError,
  UnimplementedError,
} from '../errors/xla-error-classes.ts'

/** What a registry refuses, with XLA's own words where it has some. */
const refusal = (xlaCode: number, target: string, text: string): XlaFailure => ({
  xlaCode,
  text,
  target,
  stage: 'execute',
  refused: true,
})

export function invalid(target: string, text: string): XlaError {
  return new InvalidArgumentError(refusal(3, target, text))
}

export function alreadyExists(target: string, text: string): XlaError {
  return new AlreadyExistsError(refusal(6, target, text))
}

/** Nothing is registered: XLA has another text, and for devices another code, for each kind of call. */
export function missing(target: string, platform: string, isTyped: boolean): XlaError {
  if (!isTyped) {
    const text = `No registered implementation for untyped custom call to ${target} for ${platform}`
    return new NotFoundError(refusal(5, target, text))
  }
  const canonical = canonicalPlatform(platform)
  const text = `No FFI handler registered for ${target} on a platform ${platform} (canonical ${canonical})`
  return canonical === 'host'
    ? new NotFoundError(refusal(5, target, text))
    : new UnimplementedError(refusal(12, target, text))
}

/** A typed handler of a platform that nothing is known of. */
export function noDevice(target: string, platform: string): XlaError {
  return new UnimplementedError(
    refusal(12, target, `${target} is a handler for ${platform}, only those for Host, CUDA and ROCM can be called`),
  )
}

/** The name under which typed handlers are kept: without case, the short names replaced. */
export function canonicalPlatform(platform: string): string {
  const lower = platform.toLowerCase()
  return lower === 'cpu' ? 'host' : lower === 'gpu' ? 'cuda' : lower
}
