import type { DType } from '@tenon/core'
import { malformed } from '../errors/arrow-error.ts'

/** The memory layout of a column, from the format string of its schema: "Data type description" of Arrow's C data interface. */
export type Layout =
  /** Numbers, dates and times: a buffer of elements. */
  | { readonly kind: 'number'; readonly dtype: DType; readonly width: number }
  /** Elements of so many bytes that Tenon has no number for: decimals, intervals and binary of a fixed size. */
  | { readonly kind: 'bytes'; readonly width: number }
  | { readonly kind: 'bool' }
  | { readonly kind: 'null' }
  /** Strings or bytes with offsets of 4 or 8 bytes. */
  | { readonly kind: 'text'; readonly width: 4 | 8 }
  | { readonly kind: 'views' }
  | { readonly kind: 'list'; readonly width: 4 | 8 }
  | { readonly kind: 'fixedList'; readonly size: number }
  | { readonly kind: 'struct' }
  /** Types whose data is not read. */
  | { readonly kind: 'other'; readonly name: string }

const number = (dtype: DType, width: number): Layout => ({ kind: 'number', dtype, width })
const other = (name: string): Layout => ({ kind: 'other', name })
const [int32, int64] = [number('int32', 4), number('int64', 8)]

/** The formats without parameters. */
const formats = new Map<string, Layout>(
  Object.entries({
    n: { kind: 'null' },
    b: { kind: 'bool' },
    c: number('int8', 1),
    C: number('uint8', 1),
    s: number('int16', 2),
    S: number('uint16', 2),
    i: int32,
    I: number('uint32', 4),
    l: int64,
    L: number('uint64', 8),
    e: number('float16', 2),
    f: number('float32', 4),
    g: number('float64', 8),
    z: { kind: 'text', width: 4 },
    Z: { kind: 'text', width: 8 },
    u: { kind: 'text', width: 4 },
    U: { kind: 'text', width: 8 },
    vz: { kind: 'views' },
    vu: { kind: 'views' },
    tdD: int32,
    tdm: int64,
    tts: int32,
    ttm: int32,
    ttu: int64,
    ttn: int64,
    tDs: int64,
    tDm: int64,
    tDu: int64,
    tDn: int64,
    tiM: int32,
    tiD: { kind: 'bytes', width: 8 },
    tin: { kind: 'bytes', width: 16 },
    '+l': { kind: 'list', width: 4 },
    '+L': { kind: 'list', width: 8 },
    '+m': { kind: 'list', width: 4 },
    '+s': { kind: 'struct' },
    '+vl': other('list view'),
    '+vL': other('large list view'),
    '+r': other('run-end encoded'),
  } satisfies Record<string, Layout>),
)

/** The most elements of a fixed-size list, and bytes of a fixed-size binary. */
const LARGEST_SIZE = 2 ** 31 - 1

/** Reads a format string. @throws {ArrowError} if Arrow does not define it */
export function parseFormat(format: string, path: string): Layout {
  const found = formats.get(format) ?? parameterized(format)
  if (found !== undefined) return found
  const shown = JSON.stringify(format.slice(0, 64))
  throw malformed(path, `must have a format of Arrow, got ${shown}`, { received: format.slice(0, 64) })
}

function parameterized(format: string): Layout | undefined {
  if (/^ts[smun]:/.test(format)) return int64
  if (/^\+u[ds]:(-?\d+(,-?\d+)*)?$/.test(format)) return other('union')
  const sized = /^(w|\+w):(\d{1,10})$/.exec(format)
  if (sized !== null) {
    const size = Number(sized[2])
    if (size > LARGEST_SIZE) return undefined
    return sized[1] === 'w' ? { kind: 'bytes', width: size } : { kind: 'fixedList', size }
  }
  const decimal = /^d:\d{1,3},-?\d{1,3}(?:,(32|64|128|256))?$/.exec(format)
  if (decimal === null) return undefined
  const bits = decimal[1] ?? '128'
  if (bits === '32') return int32
  if (bits === '64') return int64
  return { kind: 'bytes', width: Number(bits) / 8 }
}

/** The number of buffers of an array with a layout. Undefined if it is not fixed. */
export function bufferCount(layout: Layout): number | undefined {
  switch (layout.kind) {
    case 'null':
      return 0
    case 'struct':
    case 'fixedList':
      return 1
    case 'number':
    case 'bytes':
    case 'bool':
    case 'list':
      return 2
    case 'text':
      return 3
    default:
      return undefined
  }
}

/** The number of children of a field with a layout. Undefined if it is not fixed. */
export function childCount(layout: Layout): number | undefined {
  if (layout.kind === 'struct' || layout.kind === 'other') return undefined
  return layout.kind === 'list' || layout.kind === 'fixedList' ? 1 : 0
}
