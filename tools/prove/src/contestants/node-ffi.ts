import type { Contestant, Offered, Setup } from '../contestant.ts'
import { accessTo } from './access.ts'

type Native = (...values: unknown[]) => unknown

/** The parts of `node:ffi` that are used here. */
interface NodeFfi {
  DynamicLibrary: new (path: string) => {
    getFunction(name: string, type: { return: string; arguments: readonly string[] }): Native
    registerCallback(type: { return: string; arguments: readonly string[] }, run: unknown): bigint
    unregisterCallback(pointer: bigint): void
    close(): void
  }
  toArrayBuffer(pointer: bigint, size: number, copy: boolean): ArrayBuffer
  toString(pointer: bigint): string
}

/** `node:ffi`, which is experimental and came with Node.js 26. */
export const nodeFfi: Contestant = {
  name: 'node-ffi',
  description: '`node:ffi` of Node.js 26, with `--experimental-ffi`',
  runtimes: ['node'],
  firstCall: ({ library }) => `
import ffi from 'node:ffi'
const addOne = new ffi.DynamicLibrary(${JSON.stringify(library)}).getFunction('prove_add_one', { return: 'int32', arguments: ['int32'] })
if (addOne(1) !== 2) throw new Error('wrong')`,
  open: openNodeFfi,
}

function openNodeFfi({ library: path }: Setup): Offered {
  const ffi = process.getBuiltinModule('node:ffi') as NodeFfi | undefined
  if (ffi === undefined) throw new Error(`Node.js ${process.version} does not have node:ffi`)
  const library = new ffi.DynamicLibrary(path)
  const bind = (name: string, result: string, ...parameters: string[]): Native =>
    library.getFunction(name, { return: result, arguments: parameters })
  const sum = bind('prove_sum', 'int32', 'buffer', 'int64')
  const fill = bind('prove_fill', 'void', 'buffer', 'int64', 'int32')
  const text = bind('prove_text', 'pointer')
  const allocate = bind('prove_allocate', 'pointer', 'int64')
  const free = bind('prove_free', 'void', 'pointer')
  const step = { return: 'int32', arguments: ['int32'] }
  return {
    nothing: bind('prove_nothing', 'void'),
    addOne: bind('prove_add_one', 'int32', 'int32'),
    sum: (bytes, size) => sum(bytes, BigInt(size as number)),
    fill: (bytes, size, value) => fill(bytes, BigInt(size as number), value),
    keep: bind('prove_keep', 'int32', 'buffer'),
    kept: bind('prove_kept', 'int32'),
    length: bind('prove_length', 'int32', 'string'),
    text: () => ffi.toString(text() as bigint),
    callback: (run) => {
      const pointer = library.registerCallback(step, run)
      return { argument: pointer, release: () => library.unregisterCallback(pointer) }
    },
    repeat: bind('prove_repeat', 'int32', 'pointer', 'int32'),
    repeatOnThread: bind('prove_repeat_on_thread', 'int32', 'pointer', 'int32'),
    allocate: (size) => {
      const pointer = allocate(BigInt(size)) as bigint
      const bytes = new Uint8Array(ffi.toArrayBuffer(pointer, size, false))
      return { argument: bytes, ...accessTo(bytes), free: () => free(pointer) }
    },
    writeNull: bind('prove_write_null', 'int32', 'int32'),
    spin: bind('prove_spin', 'int32', 'int32'),
    close: () => library.close(),
  }
}
