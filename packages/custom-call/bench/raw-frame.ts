import koffi from 'koffi'

/** A call frame of XLA FFI for raw koffi, built by hand, with four f32[1] buffers and four s32 attributes. */
export interface RawFrame {
  readonly words: Int32Array
  /** The address of the frame. */
  readonly address: number
  /** The indices of the pointers to the four buffers in `words`. */
  readonly pointers: readonly number[]
}

const BUFFER = 48
const NAMES = ['w0', 'w1', 'w2', 'w3']

/** Lays out the frame. @param api the address of the handlers' function table. */
export function buildRawFrame(api: number, weights: readonly number[]): RawFrame {
  const memory = new ArrayBuffer(4096)
  const base = Number(koffi.address(memory))
  const view = new DataView(memory)
  let used = 176
  const take = (size: number): number => {
    const at = used
    used += Math.ceil(size / 8) * 8
    return at
  }
  const u64 = (at: number, value: number): void => view.setBigUint64(at, BigInt(value), true)
  const pointer = (at: number, to: number): void => u64(at, base + to)

  const buffers = Array.from({ length: 4 }, () => {
    const [at, dims] = [take(BUFFER), take(8)]
    u64(at, BUFFER)
    view.setInt32(at + 16, 11, true)
    u64(at + 32, 1)
    pointer(at + 40, dims)
    u64(dims, 1)
    return at
  })
  const list = (at: number, members: readonly number[]): void => {
    const [types, places] = [take(4 * members.length), take(8 * members.length)]
    members.forEach((member, i) => {
      view.setInt32(types + 4 * i, 1, true)
      pointer(places + 8 * i, member)
    })
    u64(at, 40)
    u64(at + 16, members.length)
    pointer(at + 24, types)
    pointer(at + 32, places)
  }
  const attributes = (at: number): void => {
    const [types, names, values] = [take(4 * NAMES.length), take(8 * NAMES.length), take(8 * NAMES.length)]
    NAMES.forEach((name, i) => {
      const [span, text, scalar, value] = [take(16), take(8), take(16), take(8)]
      pointer(span, text)
      u64(span + 8, name.length)
      Buffer.from(memory, text, 8).write(name)
      view.setInt32(scalar, 4, true)
      pointer(scalar + 8, value)
      view.setInt32(value, weights[i]!, true)
      view.setInt32(types + 4 * i, 3, true)
      pointer(names + 8 * i, span)
      pointer(values + 8 * i, scalar)
    })
    u64(at, 48)
    u64(at + 16, NAMES.length)
    pointer(at + 24, types)
    pointer(at + 32, names)
    pointer(at + 40, values)
  }

  u64(0, 168)
  u64(16, api)
  view.setInt32(32, 3, true)
  list(40, buffers.slice(0, 3))
  list(80, buffers.slice(3))
  attributes(120)
  return { words: new Int32Array(memory), address: base, pointers: buffers.map((at) => (at + 24) / 4) }
}
