import { packageFlags } from '@tenon/config/package-flags'
import { runScript } from '@tenon/core/testing'
import { expect, test } from 'vitest'
import { packageDirectory } from './support/worker.ts'

test('without buffers over native memory, as in Electron, scopes work and other functions throw UnsupportedError', async () => {
  const { code, stdout, stderr } = await runScript(
    `import { createRequire } from 'node:module'
     const koffi = createRequire(import.meta.url)('koffi')
     koffi.view = () => { throw new Error('This runtime does not support external buffers') }
     const { MemorySegment, NativeScope, ResourceScope, toCString } = await import('@tenon/scope')
     const { Linker, SymbolLookup, upcallStub } = await import('@tenon/scope/linker')
     const libc = SymbolLookup.ofProcess()
     const strlen = Linker.downcall(libc.get('strlen'), { result: 'uint64', parameters: ['pointer'] })
     for (const scope of [NativeScope.ofConfined(), NativeScope.ofShared()]) {
       scope.allocate(64).fill(1).withView((view) => view.getUint8(0))
       console.log(strlen(toCString('text', scope)), scope.allocate(100_000).address % 16n)
       scope.close()
     }
     const scope = ResourceScope.ofConfined()
     const pointer = MemorySegment.ofAddress(libc.get('strlen').address)
     for (const refused of [() => pointer.reinterpret(4), () => MemorySegment.mapFile('package.json', scope)]) {
       try { refused() } catch ({ code, message, hint }) { console.log(code, /external buffers/.test(message), /Electron/.test(hint)) }
     }
     scope.close()
     console.log(ResourceScope.stats().openScopes)`,
    {
      cwd: packageDirectory,
      env: { TENON_DRIVER: 'koffi' },
      nodeOptions: [...packageFlags, '--disable-warning=ExperimentalWarning'],
    },
  )
  expect([code, stdout], stderr).toEqual([
    0,
    '4n 0n\n4n 0n\nTENON_UNSUPPORTED true true\nTENON_UNSUPPORTED true true\n0\n',
  ])
})
