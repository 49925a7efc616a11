import { execFileSync } from 'node:child_process'
import { BinaryFormatError } from '../../src/binary-format-error.ts'
import { DebugInfo } from '../../src/debug-info/debug-info.ts'

/** A number that is written somewhere into a file. */
export interface Change {
  readonly area: number
  readonly position: number
  readonly value: number
  readonly width: number
}

/** Numbers that break arithmetic. */
export const HOSTILE_VALUES = [0, 1, 0x7f, 0x80, 0xff, 0xffff, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff] as const

export const WIDTHS = [1, 1, 2, 4, 8] as const

/** The parts of a file by offset and size: its sections with debug information, its tables of symbols, and the first and last bytes. */
export function areasOf(path: string, byteSize: number): [offset: number, byteSize: number][] {
  const text = execFileSync('readelf', ['-SW', path], { encoding: 'utf8' })
  const found = text.matchAll(
    / (\.debug_\w+(?:\.dwo)?|\.symtab|\.strtab|\.shstrtab|\.gnu_debuglink) +\w+ +\w+ (\w+) (\w+)/g,
  )
  const sections = Array.from(found, ([, , offset, size]): [number, number] => [
    Number.parseInt(offset!, 16),
    Number.parseInt(size!, 16),
  ])
  return [...sections, [0, 64], [byteSize - 64 * 36, 64 * 36]]
}

export function changed(image: Buffer, areas: readonly [number, number][], changes: readonly Change[]): Buffer {
  const bytes = Buffer.from(image)
  for (const { area, position, value, width } of changes) {
    const [offset, byteSize] = areas[area % areas.length]!
    for (let index = 0; index < width; index += 1) {
      bytes[(offset + (position % byteSize) + index) % bytes.length] = Math.floor(value / 256 ** (index % 4)) & 255
    }
  }
  return bytes
}

/** The range of the section with code. */
export function codeOf(path: string): { readonly start: number; readonly size: number } {
  const [, start, size] = / \.text +PROGBITS +(\w+) \w+ (\w+)/.exec(
    execFileSync('readelf', ['-SW', path], { encoding: 'utf8' }),
  )!
  return { start: Number.parseInt(start!, 16), size: Number.parseInt(size!, 16) }
}

/**
 * Looks up eight addresses of a file that may be damaged. Returns the most characters of a frame, or 0 if the file is refused.
 *
 * @throws other errors than {@link BinaryFormatError}
 */
export function lookUp(path: string, { start, size }: ReturnType<typeof codeOf>): number {
  let most = 0
  try {
    using info = DebugInfo.open(path)
    for (let at = 0; at < size; at += Math.ceil(size / 8)) {
      for (const frame of info.locate(start + at)) {
        most = Math.max(most, (frame.function ?? '').length + (frame.file ?? '').length)
      }
    }
  } catch (error) {
    if (!(error instanceof BinaryFormatError)) throw error
  }
  return most
}
