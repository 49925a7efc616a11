import { createRequire } from 'node:module'
import type { Callback, Contestant, Offered, Setup } from '../contestant.ts'

type Native = ((...values: unknown[]) => unknown) & { async(...values: unknown[]): void }

/** The parts of koffi that are used here. */
interface Koffi {
  load(path: string): { func(name: string, result: unknown, parameters: readonly unknown[]): Native; unload(): void }
  struct(members: object): unknown
  proto(result: string, parameters: readonly string[]): unknown
  pointer(type: unknown): unknown
  register(run: unknown, type: unknown): unknown
  unregister(callback: unknown): void
  alloc(type: string, count: number): unknown
  free(pointer: unknown): void
  decode(pointer: unknown, offset: number, type: string): unknown
  encode(pointer: unknown, offset: number, type: string, value: unknown): void
}

/** koffi, with types as its documentation recommends them. */
export const koffi: Contestant = {
  name: 'koffi',
  description: 'functions with types that are written as C',
  runtimes: ['node'],
  package: 'koffi',
  firstCall: ({ library, rivals }) => `
import { createRequire } from 'node:module'
const koffi = createRequire(${JSON.stringify(rivals)})('koffi')
if (koffi.load(${JSON.stringify(library)}).func('prove_add_one', 'int32_t', ['int32_t'])(1) !== 2) throw new Error('wrong')`,
  open: openKoffi,
}

export function openKoffi({ library: path, rivals }: Setup): Offered {
  const { load, struct, proto, pointer, register, unregister, alloc, free, decode, encode } = createRequire(rivals)(
    'koffi',
  ) as Koffi
  const library = load(path)
  const point = struct({ x: 'double', y: 'double' })
  const step = pointer(proto('int32_t', ['int32_t']))
  const sum = library.func('prove_sum', 'int32_t', ['void *', 'int64_t'])
  return {
    nothing: library.func('prove_nothing', 'void', []),
    addOne: library.func('prove_add_one', 'int32_t', ['int32_t']),
    sum,
    sumLater: (bytes, size) =>
      new Promise((resolve, reject) =>
        sum.async(bytes, size, (error: unknown, value: unknown) => (error ? reject(error) : resolve(value))),
      ),
    fill: library.func('prove_fill', 'void', ['void *', 'int64_t', 'int32_t']),
    keep: library.func('prove_keep', 'int32_t', ['void *']),
    kept: library.func('prove_kept', 'int32_t', []),
    length: library.func('prove_length', 'int32_t', ['str']),
    text: library.func('prove_text', 'str', []),
    scale: library.func('prove_scale', point, [point, 'double']),
    callback: (run): Callback => {
      const registered = register(run, step)
      return { argument: registered, release: () => unregister(registered) }
    },
    repeat: library.func('prove_repeat', 'int32_t', [step, 'int32_t']),
    repeatOnThread: library.func('prove_repeat_on_thread', 'int32_t', [step, 'int32_t']),
    allocate: (size) => {
      const memory = alloc('uint8_t', size)
      return {
        argument: memory,
        read: (index) => decode(memory, index, 'uint8_t'),
        write: (index, value) => encode(memory, index, 'uint8_t', value),
        free: () => free(memory),
      }
    },
    writeNull: library.func('prove_write_null', 'int32_t', ['int32_t']),
    spin: library.func('prove_spin', 'int32_t', ['int32_t']),
    close: () => library.unload(),
  }
}
