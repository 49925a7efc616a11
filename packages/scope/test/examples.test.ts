import { testExamples } from '@tenon/config/examples'
import * as core from '@tenon/core'
import { fileURLToPath } from 'node:url'
import { MessageChannel } from 'node:worker_threads'
import * as bind from '../src/bind.ts'
import * as scope from '../src/index.ts'
import * as linker from '../src/linker.ts'
import * as testing from '../src/testing.ts'

const directory = fileURLToPath(new URL('..', import.meta.url))

testExamples(directory, {
  modules: {
    '@tenon/scope': scope,
    '@tenon/scope/bind': bind,
    '@tenon/scope/linker': linker,
    '@tenon/scope/testing': testing,
    'node:worker_threads': { MessageChannel },
    vitest: { beforeEach: () => {}, afterEach: () => {} },
  },
  context: () => {
    const open = scope.NativeScope.ofConfined()
    const { MemoryLayout } = scope
    const point = MemoryLayout.struct({ id: MemoryLayout.uint8, x: MemoryLayout.float64 })
    const libc = linker.SymbolLookup.ofProcess()
    return {
      scope: open,
      segment: open.allocate(240, 64),
      buffer: open.allocate(100),
      point,
      fn: () => {},
      worker: { postMessage() {} },
      file: { read: async () => ({ bytesRead: 0 }) },
      parentPort: { once() {} },
      vsnprintf: linker.Linker.downcall(libc.get('vsnprintf'), {
        result: 'int32',
        parameters: ['pointer', 'uint64', 'pointer', 'pointer'],
      }),
      console: { log() {}, error() {} },
      ...core,
    }
  },
})
