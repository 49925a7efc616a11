import { createRequire } from 'node:module'
import type { Contestant, Offered, Setup } from '../contestant.ts'
import { accessTo } from './access.ts'

type Types = Readonly<Record<'String' | 'I32' | 'Double' | 'Void' | 'I64' | 'U8Array' | 'External', number>>

interface Declaration {
  readonly retType: unknown
  readonly paramsType: readonly unknown[]
}

/** The parts of ffi-rs that are used here. */
interface FfiRs {
  readonly DataType: Types
  readonly FFITypeTag: { readonly StackStruct: number }
  readonly PointerType: { readonly RsPointer: number }
  open(library: { library: string; path: string }): void
  close(library: string): void
  load(call: Declaration & Record<string, unknown>): unknown
  define(functions: Record<string, Declaration & { library: string }>): Record<string, (values: unknown[]) => unknown>
  funcConstructor(type: Declaration): unknown
  createPointer(pointer: { paramsType: unknown[]; paramsValue: unknown[] }): unknown[]
  unwrapPointer(pointers: unknown[]): unknown[]
  freePointer(pointer: { paramsType: unknown[]; paramsValue: unknown[]; pointerType: number }): void
  createExternalBuffer(pointer: unknown, size: number): Uint8Array
}

/** ffi-rs, which passes the arguments of a call as one array. */
export const ffiRs: Contestant = {
  name: 'ffi-rs',
  description: '`define()`, and `load()` for calls on other threads',
  runtimes: ['node'],
  package: 'ffi-rs',
  firstCall: ({ library, rivals }) => `
import { createRequire } from 'node:module'
const { DataType, load, open } = createRequire(${JSON.stringify(rivals)})('ffi-rs')
open({ library: 'work', path: ${JSON.stringify(library)} })
const call = { library: 'work', funcName: 'prove_add_one', retType: DataType.I32, paramsType: [DataType.I32], paramsValue: [1] }
if (load(call) !== 2) throw new Error('wrong')`,
  open: openFfiRs,
}

function openFfiRs({ library: path, rivals }: Setup): Offered {
  const ffi = createRequire(rivals)('ffi-rs') as FfiRs
  const { String: text, I32, Double, Void, I64, U8Array, External } = ffi.DataType
  const library = 'work'
  ffi.open({ library, path })
  const declare = (retType: unknown, ...paramsType: unknown[]): Declaration & { library: string } => ({
    library,
    retType,
    paramsType,
  })
  const point = { x: Double, y: Double, ffiTypeTag: ffi.FFITypeTag.StackStruct }
  const step = ffi.funcConstructor({ paramsType: [I32], retType: I32 })
  const bytesSum = declare(I32, U8Array, I64)
  const calls = ffi.define({
    prove_nothing: declare(Void),
    prove_add_one: declare(I32, I32),
    prove_sum: bytesSum,
    prove_fill: declare(Void, U8Array, I64, I32),
    prove_keep: declare(I32, U8Array),
    prove_kept: declare(I32),
    prove_length: declare(I32, text),
    prove_text: declare(text),
    prove_scale: declare(point, point, Double),
    prove_repeat: declare(I32, External, I32),
    prove_repeat_on_thread: declare(I32, External, I32),
    prove_allocate: declare(External, I64),
    prove_free: declare(Void, External),
    prove_write_null: declare(I32, I32),
    prove_spin: declare(I32, I32),
  })
  return {
    nothing: () => calls['prove_nothing']!([]),
    addOne: (...values) => calls['prove_add_one']!(values),
    sum: (...values) => calls['prove_sum']!(values),
    sumLater: (...paramsValue) =>
      ffi.load({ ...bytesSum, funcName: 'prove_sum', paramsValue, runInNewThread: true }) as Promise<unknown>,
    fill: (...values) => calls['prove_fill']!(values),
    keep: (...values) => calls['prove_keep']!(values),
    kept: () => calls['prove_kept']!([]),
    length: (...values) => calls['prove_length']!(values),
    text: () => calls['prove_text']!([]),
    scale: (...values) => calls['prove_scale']!(values),
    callback: (run) => {
      const pointers = ffi.createPointer({ paramsType: [step], paramsValue: [run] })
      const release = { paramsType: [step], paramsValue: pointers, pointerType: ffi.PointerType.RsPointer }
      return { argument: ffi.unwrapPointer(pointers)[0], release: () => ffi.freePointer(release) }
    },
    repeat: (...values) => calls['prove_repeat']!(values),
    repeatOnThread: (...values) => calls['prove_repeat_on_thread']!(values),
    allocate: (size) => {
      const pointer = calls['prove_allocate']!([size])
      const bytes = ffi.createExternalBuffer(pointer, size)
      return { argument: bytes, ...accessTo(bytes), free: () => calls['prove_free']!([pointer]) }
    },
    writeNull: (...values) => calls['prove_write_null']!(values),
    spin: (...values) => calls['prove_spin']!(values),
    close: () => ffi.close(library),
  }
}
