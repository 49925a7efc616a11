import { execFileSync } from 'node:child_process'
import { DebugInfo, type DebugInfoOptions } from '../../src/debug-info/debug-info.ts'

/** The most addresses of a library that are looked up. */
const MOST_ADDRESSES = 1500

/** Addresses of the code of a library, in equal steps. */
export function addressesOf(path: string): number[] {
  const text = execFileSync('readelf', ['-SW', path], { encoding: 'utf8' })
  const [, start, size] = / \.text +PROGBITS +(\w+) \w+ (\w+)/.exec(text)!
  const [first, byteSize] = [Number.parseInt(start!, 16), Number.parseInt(size!, 16)]
  const step = Math.ceil(byteSize / MOST_ADDRESSES)
  return Array.from({ length: Math.floor(byteSize / step) }, (_, index) => first + index * step)
}

/** The frames of each of these addresses, as a text. */
export function framesOf(path: string, options: DebugInfoOptions = {}): string[] {
  using info = DebugInfo.open(path, options)
  return addressesOf(path).map((address) =>
    info
      .locate(address)
      .map((frame) => JSON.stringify(frame))
      .join(' '),
  )
}

/** The first addresses at which the frames differ, with those of both. */
export const differences = (got: readonly string[], expected: readonly string[]): readonly string[] =>
  expected
    .flatMap((text, index) => (text === got[index] ? [] : [`address ${index}: got ${got[index]}, expected ${text}`]))
    .slice(0, 3)

/** The number of addresses at which a function is inlined. */
export const inlinedIn = (frames: readonly string[]): number =>
  frames.filter((text) => text.includes('"inlined":true')).length
