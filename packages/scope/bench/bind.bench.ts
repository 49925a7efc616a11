import type { Suite } from '@tenon/bench'
import { NativeScope } from '@tenon/scope'
import { NativeModule, Struct } from '@tenon/scope/bind'
import { Linker, SymbolLookup } from '@tenon/scope/linker'

const LIBC = process.platform === 'darwin' ? 'libSystem.B.dylib' : 'libc.so.6'

const libc = SymbolLookup.ofProcess()
const library = NativeModule.of({ platform: `${process.platform}-${process.arch}`, libraries: [LIBC] })

type Call = (...values: readonly unknown[]) => unknown

// As `tenon bind` writes them.
const memory = { result: 'int32', parameters: ['pointer'] } as const
let linkedMemory: Call | undefined
const strlen = (a0: unknown): unknown => (linkedMemory ??= library.link('strlen', memory))(a0)
const text = { result: 'int32', parameters: ['text'] } as const
let linkedText: Call | undefined
const length = (a0: unknown): unknown => (linkedText ??= library.link('strlen', text))(a0)

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
