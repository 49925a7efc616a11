import { createRequire } from 'node:module'
import type koffiModule from 'koffi'
import { NativeError } from '../errors/kinds.ts'

/**
 * The seam to the FFI driver: the only file that knows koffi. Another driver can stand here one day.
 *
 * koffi is loaded at first use, so that importing a package has no side effects.
 */
type Koffi = typeof koffiModule
type TypeObject = ReturnType<Koffi['struct']>

let loaded: Koffi | undefined

function koffi(): Koffi {
  if (loaded === undefined) {
    loaded = createRequire(import.meta.url)('koffi') as Koffi
    configure(loaded)
    // In a thread that has loaded nothing, calling a function made from an address crashes koffi 3.3.
    loaded.load(null)
  }
  return loaded
}

/** What native code may use of the stack, in bytes: as much as on a thread of its own. koffi's own 128 KiB crash kernels. */
const STACK_SIZE = 8 * 2 ** 20

/** How many calls may be on other threads at a time: koffi's maximum. */
const MAXIMUM_ASYNC_CALLS = 4096

function configure(driver: Koffi): void {
  try {
    driver.config({ sync_stack_size: STACK_SIZE, async_stack_size: STACK_SIZE, max_async_calls: MAXIMUM_ASYNC_CALLS })
  } catch {
    // The application uses this koffi itself and has loaded a library: its settings stand.
  }
}

/** A struct passed by value, as the driver knows it. */
export interface CStruct {
  readonly struct: TypeObject
}

/** How many parameters a function can be declared with. */
export const MAXIMUM_PARAMETERS = 64

/** Types of a C signature, as koffi names them. Pointers travel as `uintptr_t` numbers. */
export type CType =
  | CStruct
  | 'void'
  | 'bool'
  | 'int8_t'
  | 'uint8_t'
  | 'int16_t'
  | 'uint16_t'
  | 'int32_t'
  | 'uint32_t'
  | 'int64_t'
  | 'uint64_t'
  | 'uintptr_t'
  | 'float'
  | 'double'

/** A function of C: numbers in, a number (bigint above 2^53) out. */
export interface CFunction {
  (...values: unknown[]): never
  /** Runs it on another thread, then calls the last argument with an error or null, and the result. */
  async(...values: unknown[]): void
}

/** Where the bytes of a buffer start. The caller keeps the buffer alive and attached while the address is used. */
export function addressOf(buffer: ArrayBufferLike | ArrayBufferView): number {
  return Number(koffi().address(buffer))
}

/** The last memory that was kept. */
const kept: { memory: unknown } = { memory: undefined }

/**
 * Keeps memory until here. Once its address was taken, the engine may free what no code uses any more, even before the native
 * call that reads it: whoever makes memory for a call alone says this after it.
 */
export function keepAlive(memory: ArrayBufferView): void {
  kept.memory = memory
}

/**
 * A library opened by the driver itself, its symbols visible to all that is loaded later. @throws the loader's words
 */
export function loadGlobally(path: string): {
  declare(name: string, result: CType, parameters: readonly CType[]): CFunction
} {
  const library = koffi().load(path, { global: true })
  return {
    declare: (name, result, parameters) =>
      library.func(name, specOf(result), parameters.map(specOf)) as unknown as CFunction,
  }
}

/** The function at an address. Declared once, never per call: declaring costs as much as a hundred calls. */
export function functionAt(address: number, result: CType, parameters: readonly CType[]): CFunction {
  const { decode, proto } = koffi()
  return decode(BigInt(address), proto(specOf(result), parameters.map(specOf))) as CFunction
}

/** What koffi calls a type. */
const specOf = (type: CType): string | TypeObject => (typeof type === 'string' ? type : type.struct)

/** {@link functionAt} of a variadic function, for one list of parameters, `fixed` of them before the `...`. */
export function variadicFunctionAt(
  address: number,
  result: CType,
  parameters: readonly CType[],
  fixed: number,
): CFunction {
  const { decode, proto } = koffi()
  const specs = parameters.map(specOf)
  const raw = decode(BigInt(address), proto(specOf(result), [...specs.slice(0, fixed), '...'])) as CFunction
  const interleave = (values: readonly unknown[]): unknown[] => [
    ...values.slice(0, fixed),
    ...specs.slice(fixed).flatMap((spec, i) => [spec, values[fixed + i]]),
  ]
  return Object.assign((...values: unknown[]) => raw(...interleave(values)), {
    async: (...values: unknown[]) => raw.async(...interleave(values.slice(0, -1)), values.at(-1)),
  })
}

/** Declares a struct by its members, laid out as C does. @returns the type and its size in bytes */
export function declareStruct(
  members: readonly {
    readonly name: string
    readonly type: CType
    readonly count?: number
    readonly byteAlignment: number
  }[],
): { readonly type: CStruct; readonly size: number } {
  const k = koffi()
  const entries = members.map(({ name, type, count, byteAlignment }) => {
    const spec = count === undefined ? specOf(type) : k.array(specOf(type), count)
    return [name, [byteAlignment, spec]] as [string, [number, typeof spec]]
  })
  const struct = k.struct(Object.fromEntries(entries))
  return { type: { struct }, size: k.sizeof(struct) }
}

/** The members of a struct in native memory. The caller vouches for the address. */
export function readStruct(address: number, type: CStruct): Record<string, unknown> {
  return koffi().decode(BigInt(address), type.struct) as Record<string, unknown>
}

/** Writes the members of a struct to native memory. The caller vouches for the address. */
export function writeStruct(address: number, type: CStruct, value: object): void {
  koffi().encode(BigInt(address), type.struct, value)
}

/** What the last call on this thread left in `errno`. Only right after the call. */
export function errno(): number {
  return koffi().errno()
}

/** Makes native code able to call `callback`; returns its address. One of koffi's 8192 slots: see callbacks/. */
export function registerCallback(
  callback: (...values: never[]) => unknown,
  result: CType,
  parameters: readonly CType[],
): number {
  const k = koffi()
  return Number(k.register(callback, k.pointer(k.proto(specOf(result), parameters.map(specOf)))))
}

/** Ends what {@link registerCallback} began: once, and never while the callback runs. */
export function unregisterCallback(address: number): void {
  koffi().unregister(BigInt(address))
}

/** Nothing: that it is called is enough. */
function goOn(): void {}

/**
 * Calls `whenReadable` from the event loop as long as a file descriptor is readable. Keeps the process alive after `ref()`.
 * Only for the main thread: see `pollReadable`.
 */
export function pollDescriptor(
  descriptor: number,
  whenReadable: () => void,
): { ref(): void; unref(): void; close(): void } {
  const handle = koffi().node.poll(descriptor, { readable: true }, () => {
    // From Node 26 on, what promises wait for would not go on after this callback, before something else wakes the loop.
    setImmediate(goOn)
    whenReadable()
  })
  handle.unref()
  return handle
}

/** A NUL-terminated UTF-8 string of native memory, copied. The caller vouches for the address. */
export function stringAt(address: number): string {
  return address === 0 ? '' : koffi().decode.string(BigInt(address))
}

/**
 * An ArrayBuffer over native memory that outlives it. One a block, ever: each costs, and detaching one leaves others.
 *
 * @throws {NativeError} if the runtime has no such buffers: Electron keeps all memory of JavaScript in a place of its own.
 */
export function bufferOver(address: number, byteSize: number): ArrayBuffer {
  try {
    return koffi().view(BigInt(address), byteSize)
  } catch (cause) {
    throw new NativeError(`no buffer over native memory can be made: ${(cause as Error).message}`, {
      hint: 'Electron has none: there, use memory of scopes and copy, or do native work in a process of plain Node.js.',
      details: { byteSize },
      cause,
    })
  }
}
