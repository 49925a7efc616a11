import type { Suite } from '@tenon/bench'
import { NativeScope } from '@tenon/scope'
import { Handle, NativeModule, Struct } from '@tenon/scope/bind'
import { Linker, SymbolLookup } from '@tenon/scope/linker'

const LIBC = process.platform === 'darwin' ? 'libSystem.B.dylib' : 'libc.so.6'

const libc = SymbolLookup.ofProcess()
const library = NativeModule.of({ platform: `${process.platform}-${process.arch}`, libraries: [LIBC] })

type Call = (...values: readonly unknown[]) => unknown

// As `tenon bind` writes them.
const memory = { result: 'int32', parameters: ['pointer'] } as const
let linkedMemory: Call | undefined
const strlen = (a0: unknown): unknown => (linkedMemory ??= library.link('strlen', memory))(a0)
let linkedHandle: Call | undefined
const lengthOfHandle = (a0: unknown): unknown => (linkedHandle ??= library.link('strlen', memory))(a0)
let linkedPointer: Call | undefined
const lengthOfPointer = (a0: unknown): unknown => (linkedPointer ??= library.link('strlen', memory))(a0)
const text = { result: 'int32', parameters: ['text'] } as const
let linkedText: Call | undefined
const length = (a0: unknown): unknown => (linkedText ??= library.link('strlen', text))(a0)

class Text extends Handle {}

class Table extends Struct {
  static override byteSize = 8
  static override byteAlignment = 8
  #strlen: Call | undefined
  strlen(a0: unknown): unknown {
    return (this.#strlen ??= library.linkMember(this, 'strlen', 0, memory))(a0)
  }
}

export const suite = {
  package: '@tenon/scope',
  rows: [
    {
      name: 'call a function of a bound module with a segment',
      unit: 'ns',
      target: { 'Linker.downcall': 1.05 },
      setup: () => {
        const scope = NativeScope.ofConfined()
        const segment = scope.allocate(16)
        const linked = Linker.downcall(libc.get('strlen'), memory)
        return {
          ours: () => strlen(segment),
          peers: { 'Linker.downcall': () => linked(segment) },
          teardown: () => scope.close(),
        }
      },
    },
    {
      name: 'call a function of a bound module with a handle',
      unit: 'ns',
      target: { 'a plain pointer': 1.02 },
      setup: () => {
        const calloc = Linker.downcall(libc.get('calloc'), { result: 'pointer', parameters: ['uint64', 'uint64'] })
        const free = Linker.downcall(libc.get('free'), { parameters: ['pointer'] })
        const handle = Text.own(calloc(1, 16), free)
        const pointer = calloc(1, 16)
        return {
          ours: () => lengthOfHandle(handle),
          peers: { 'a plain pointer': () => lengthOfPointer(pointer) },
          teardown: () => {
            handle.close()
            free(pointer)
          },
        }
      },
    },
    {
      name: 'call a function of a bound module with a text',
      unit: 'ns',
      target: { 'Linker.downcall': 1.05 },
      setup: () => {
        const linked = Linker.downcall(libc.get('strlen'), text)
        return { ours: () => length('a string'), peers: { 'Linker.downcall': () => linked('a string') } }
      },
    },
    {
      name: 'call a method of a table of functions',
      unit: 'ns',
      target: { 'Linker.downcall': 1.05 },
      setup: () => {
        const scope = NativeScope.ofConfined()
        const segment = scope.allocate(16)
        const table = Table.allocate(scope)
        table.segment.setUint64(0, libc.get('strlen').address)
        const linked = Linker.downcall(libc.get('strlen'), memory)
        return {
          ours: () => table.strlen(segment),
          peers: { 'Linker.downcall': () => linked(segment) },
          teardown: () => scope.close(),
        }
      },
    },
  ],
} satisfies Suite
