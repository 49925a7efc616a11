import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { LoadError } from '@tenon/core'
import { addressOf, coreLibrary, libraryFileName, loadGlobally, stringAt, type CType } from '@tenon/core/internal'

/** A function of the host library: addresses and sizes as numbers. */
type HostFunction<Result> = (...values: number[]) => Result

/** What libtenon_packed does: see its sources for who owns what. */
export interface Host {
  /** The path of the tvm-ffi library in use: this package's own, or the one that was there. */
  readonly ffiPath: string
  /** Opens the stack of this thread, which goes with the thread. */
  readonly open: HostFunction<number>
  readonly call: HostFunction<number>
  readonly makeText: HostFunction<number>
  readonly text: HostFunction<void>
  readonly clear: HostFunction<void>
  readonly clearOwned: HostFunction<void>
  readonly own: HostFunction<number>
  readonly callOwned: HostFunction<number>
  readonly copy: HostFunction<void>
  readonly retain: HostFunction<void>
  readonly release: HostFunction<void>
  readonly typeKey: HostFunction<number>
  readonly getGlobal: HostFunction<number>
  readonly setGlobal: HostFunction<number>
  readonly parseDType: HostFunction<number>
  readonly dtypeText: HostFunction<number>
  readonly createFunction: HostFunction<number>
  readonly openRelay: HostFunction<number>
  readonly closeRelay: HostFunction<void>
  readonly serveRelay: HostFunction<void>
  readonly answerRelay: HostFunction<void>
  readonly createError: HostFunction<number>
  readonly readError: HostFunction<number>
  readonly appendBacktrace: HostFunction<void>
  readonly takeReleased: HostFunction<number>
  readonly createJob: HostFunction<number>
  /** Runs a job on another thread, then calls back on this one. */
  readonly runJob: HostFunction<void> & { async(job: number, done: (error: unknown) => void): void }
  readonly cancelJob: HostFunction<void>
  readonly finishJob: HostFunction<number>
  readonly createTensor: HostFunction<number>
  readonly tensorFromDLPack: HostFunction<number>
  readonly tensorToDLPack: HostFunction<number>
  readonly describeView: HostFunction<number>
  readonly describeTensor: HostFunction<number>
  /** Opens another tvm-ffi library globally, without letting it take signals; returns its handle. */
  readonly openLibrary: (path: string) => number
  /** How many objects of this package's own tvm-ffi library are alive; undefined if another one is in use. */
  readonly liveObjects: (() => number) | undefined
}

const functions = {
  open: ['tn_packed_open', 'int32_t', 1],
  call: ['tn_packed_call', 'int32_t', 0],
  makeText: ['tn_packed_make_text', 'int32_t', 4],
  text: ['tn_packed_text', 'void', 2],
  clear: ['tn_packed_clear', 'void', 1],
  clearOwned: ['tn_packed_clear_owned', 'void', 2],
  own: ['tn_packed_own', 'int32_t', 3],
  callOwned: ['tn_packed_call_owned', 'int32_t', 4],
  copy: ['tn_packed_copy', 'void', 3],
  retain: ['tn_packed_retain', 'void', 1],
  release: ['tn_packed_release', 'void', 1],
  typeKey: ['tn_packed_type_key', 'int32_t', 2],
  getGlobal: ['tn_packed_get_global', 'int32_t', 3],
  setGlobal: ['tn_packed_set_global', 'int32_t', 5],
  parseDType: ['tn_packed_dtype_parse', 'int32_t', 3],
  dtypeText: ['tn_packed_dtype_text', 'int32_t', 1],
  createFunction: ['tn_packed_function_create', 'int32_t', 4],
  openRelay: ['tn_packed_relay_open', 'int32_t', 2],
  closeRelay: ['tn_packed_relay_close', 'void', 1],
  serveRelay: ['tn_packed_relay_serve', 'void', 1],
  answerRelay: ['tn_packed_relay_answer', 'void', 3],
  createError: ['tn_packed_error_create', 'int32_t', 7],
  readError: ['tn_packed_error_read', 'int32_t', 2],
  appendBacktrace: ['tn_packed_error_append', 'void', 3],
  takeReleased: ['tn_packed_take_released', 'int32_t', 3],
  createJob: ['tn_packed_job_create', 'int32_t', 3],
  runJob: ['tn_packed_job_run', 'void', 1],
  cancelJob: ['tn_packed_job_cancel', 'void', 1],
  finishJob: ['tn_packed_job_finish', 'int32_t', 2],
  createTensor: ['tn_packed_tensor_create', 'int32_t', 2],
  tensorFromDLPack: ['tn_packed_tensor_from_dlpack', 'int32_t', 4],
  tensorToDLPack: ['tn_packed_tensor_to_dlpack', 'int32_t', 4],
  describeView: ['tn_packed_describe_view', 'int32_t', 2],
  describeTensor: ['tn_packed_describe_tensor', 'int32_t', 2],
} satisfies Record<string, readonly [symbol: string, result: CType, parameters: number]>

/** Declares a function of the library by the number of its parameters. */
type Declare = (name: string, result: CType, count: number) => (...values: number[]) => never

let loaded: Host | undefined

/**
 * The native side, loaded at first use: after the core, before any kernel.
 *
 * @throws {LoadError} if a library is missing, or the one that `TENON_TVM_FFI_LIBRARY` names is none.
 */
export function host(): Host {
  return (loaded ??= load())
}

function load(): Host {
  const directory = dirname(coreLibrary().path)
  const path = join(directory, libraryFileName('tenon_packed'))
  if (!existsSync(path)) {
    throw new LoadError(`packed functions need ${path}, it does not exist`, {
      hint: 'install @tenon/core and its platform package in the same version.',
    })
  }
  const library = loadGlobally(path)
  const declare: Declare = (name, result, count) => library.declare(name, result, Array<CType>(count).fill('uintptr_t'))
  const { ffiPath, isOwn } = bind(declare, join(directory, libraryFileName('tvm_ffi')))
  declare('tn_packed_install_allocator', 'int32_t', 0)()
  declare('tn_packed_install_signals', 'int32_t', 0)()
  const declared = Object.fromEntries(
    Object.entries(functions).map(([key, [name, result, count]]) => [key, declare(name, result, count)]),
  ) as unknown as Omit<Host, 'ffiPath' | 'liveObjects' | 'openLibrary'>
  const liveObjects = isOwn ? loadGlobally(ffiPath).declare('tn_tvm_live_objects', 'int64_t', []) : undefined
  return { ...declared, ffiPath, liveObjects, openLibrary: (other) => open(declare, other) }
}

/** Chooses the tvm-ffi library: two in one process would be two registries, so one that is loaded already goes first. */
function bind(declare: Declare, own: string): { ffiPath: string; isOwn: boolean } {
  const named = process.env['TENON_TVM_FFI_LIBRARY']
  const present = Number(declare('tn_packed_loaded_library', 'uintptr_t', 0)())
  const ffiPath = named !== undefined && named !== '' ? named : own
  const handle = present !== 0 ? present : open(declare, ffiPath)
  const status: number = declare('tn_packed_bind', 'int32_t', 1)(handle)
  if (status !== 0) {
    throw new LoadError(`the library ${ffiPath} must have the functions of tvm-ffi 0.1, it lacks some`, {
      hint: 'unset TENON_TVM_FFI_LIBRARY to use the one of this package, or name one of version 0.1 or later.',
    })
  }
  return { ffiPath, isOwn: ffiPath === own && present === 0 }
}

function open(declare: Declare, path: string): number {
  const name = Buffer.from(path)
  const out = new BigUint64Array(1)
  if (declare('tn_packed_open_library', 'int32_t', 3)(addressOf(name), name.length, addressOf(out)) === 0)
    return Number(out[0])
  const reason = stringAt(Number(declare('tn_packed_library_error', 'uintptr_t', 0)()))
  throw new LoadError(`the tvm-ffi library ${path} could not be loaded: ${reason}`, {
    details: { tried: [{ path, reason }] },
  })
}
