import { addressOf, checkStatus, coreFunctions } from '@tenon/core/internal'

/** A handler that a library registered itself. */
export interface RegisteredName {
  readonly name: string
  /** The canonical platform, such as `host` or `cuda`. */
  readonly platform: string
}

/**
 * Returns the names of the handlers that libraries in this process registered themselves, in alphabetical order.
 * {@link registeredHandler} looks up a handler by its name.
 *
 * @example
 * NativeLibrary.open('./libkernels_runtime.so')
 * registeredNames().some(({ name }) => name === 'negate') // true
 */
export function registeredNames(): readonly RegisteredName[] {
  const length = new BigUint64Array(1)
  const list = (memory: ArrayBuffer): number => {
    const status = coreFunctions().tn_xla_list_handlers(addressOf(memory), memory.byteLength, addressOf(length))
    checkStatus(status, 'listing registered handlers')
    return Number(length[0])
  }
  let memory = new ArrayBuffer(4096)
  // Another thread may register a handler in between.
  for (let size = list(memory); size > memory.byteLength; size = list(memory)) memory = new ArrayBuffer(2 * size)
  return namesIn(new DataView(memory), Number(length[0]))
}

function namesIn(view: DataView, end: number): RegisteredName[] {
  const names: RegisteredName[] = []
  for (let at = 0; at < end;) {
    const [nameLength, platformLength] = [view.getUint32(at, true), view.getUint32(at + 4, true)]
    const text = (from: number, length: number): string =>
      Buffer.from(view.buffer as ArrayBuffer, from, length).toString()
    names.push({ name: text(at + 8, nameLength), platform: text(at + 8 + nameLength, platformLength) })
    at += Math.ceil((8 + nameLength + platformLength) / 8) * 8
  }
  return names.toSorted((a, b) => (a.name < b.name ? -1 : 1))
}
