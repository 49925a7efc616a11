/** Readers of `tn_crash_t` and `tn_module_t`. The code that crashed may have written to them, so they trust nothing. */
import { CONSTANTS, LAYOUTS } from '../generated/layouts.ts'

const { offsets: CRASH } = LAYOUTS.tn_crash_t
const { offsets: MODULE, size: MODULE_SIZE } = LAYOUTS.tn_module_t
const {
  TN_CRASH_FRAMES: MOST_FRAMES,
  TN_CRASH_EXCEPTION: EXCEPTION_SIZE,
  TN_MODULE_BUILD_ID: BUILD_ID_SIZE,
} = CONSTANTS
const MOST_PATH = 4096
const NO_ADDRESS = 2n ** 64n - 1n

/** A file whose code a process had. */
export interface CodeModule {
  readonly path: string
  /** The difference of its addresses from those in the file. */
  readonly bias: bigint
  /** The range of its code. */
  readonly start: bigint
  readonly end: bigint
  /** In hexadecimal digits; empty for a file without. */
  readonly buildId: string
  /** The size, the inode and the time of the last change of the file. */
  readonly identity: string
}

/** A position in native code. */
export interface CodeAddress {
  readonly pc: bigint
  /** Whether it is the address of an instruction, and not that at which a call returns. */
  readonly isExact: boolean
}

/** A fatal signal. */
export interface CrashRecord {
  readonly signal: number
  readonly address: bigint | undefined
  readonly access: 'read' | 'write' | 'call' | undefined
  readonly isStackFull: boolean
  /** Innermost first. */
  readonly frames: readonly CodeAddress[]
  /** The mangled name of the type of the C++ exception that ended the process, or an empty text. */
  readonly exception: string
}

/** Reads the record at an offset. @param view a copy, which nothing else changes */
export function readCrash(view: DataView, at: number): CrashRecord {
  const address = view.getBigUint64(at + CRASH.address, true)
  const exact = view.getBigUint64(at + CRASH.exact, true)
  const frames = Array.from({ length: Math.min(view.getUint32(at + CRASH.frames, true), MOST_FRAMES) }, (_, index) => ({
    pc: view.getBigUint64(at + CRASH.pcs + 8 * index, true),
    isExact: ((exact >> BigInt(index)) & 1n) === 1n,
  }))
  return {
    signal: view.getInt32(at + CRASH.signal, true),
    address: address === NO_ADDRESS ? undefined : address,
    access: ([undefined, 'read', 'write', 'call'] as const)[view.getUint32(at + CRASH.access, true)],
    isStackFull: view.getUint32(at + CRASH.is_stack, true) === 1,
    frames,
    exception: readName(new Uint8Array(view.buffer, view.byteOffset + at + CRASH.exception, EXCEPTION_SIZE)),
  }
}

/** Reads a list of modules, up to the first one that is not valid. @param bytes a copy, which nothing else changes */
export function readModules(bytes: Uint8Array<ArrayBuffer>): readonly CodeModule[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const modules: CodeModule[] = []
  for (let at = 0; at + MODULE_SIZE <= bytes.length;) {
    const size = view.getUint32(at + MODULE.size, true)
    const length = view.getUint32(at + MODULE.path_length, true)
    const idSize = view.getUint32(at + MODULE.build_id_size, true)
    const isValid = size % 8 === 0 && size <= bytes.length - at && length <= MOST_PATH && MODULE_SIZE + length <= size
    if (!isValid || idSize > BUILD_ID_SIZE) break
    const [start, end] = [view.getBigUint64(at + MODULE.start, true), view.getBigUint64(at + MODULE.end, true)]
    const path = Buffer.from(bytes.subarray(at + MODULE_SIZE, at + MODULE_SIZE + length)).toString('utf8')
    const id = at + MODULE.build_id
    if (start < end && path.startsWith('/') && !path.includes('\0'))
      modules.push({
        path,
        bias: view.getBigUint64(at + MODULE.bias, true),
        start,
        end,
        buildId: Buffer.from(bytes.subarray(id, id + idSize)).toString('hex'),
        identity: identityOf(
          view.getBigUint64(at + MODULE.byte_size, true),
          view.getBigUint64(at + MODULE.inode, true),
          view.getBigInt64(at + MODULE.changed, true),
        ),
      })
    at += size
  }
  return modules
}

/** The text by which a file is known if it has no build ID. `changed` is in milliseconds, because Deno knows no shorter times. */
export const identityOf = (byteSize: bigint, inode: bigint, changed: bigint): string =>
  `${byteSize} ${inode} ${changed}`

/** A name in a record: the characters of mangled names alone. */
function readName(bytes: Uint8Array): string {
  const end = bytes.indexOf(0)
  const text = Buffer.from(bytes.subarray(0, end < 0 ? bytes.length : end)).toString('latin1')
  return /^[\w.$]*$/.test(text) ? text : ''
}
