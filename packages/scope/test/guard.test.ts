import { packageFlags } from '@tenon/config/package-flags'
import { isSanitized } from '@tenon/config/sanitizer'
import { runScript, type ScriptOptions, type ScriptResult } from '@tenon/core/testing'
import { describe, expect, test } from 'vitest'
import { packageDirectory } from './support/worker.ts'

function guarded(code: string, options: ScriptOptions = {}): Promise<ScriptResult> {
  return runScript(
    `import { MemorySegment, NativeScope, ResourceScope } from '@tenon/scope'
     import { Linker, SymbolLookup } from '@tenon/scope/linker'
     const memset = Linker.downcall(SymbolLookup.ofProcess().get('memset'), { result: 'pointer', parameters: ['pointer', 'int32', 'uint64'] })
     const scope = NativeScope.ofConfined({ name: 'request' })
     ${code}`,
    {
      cwd: packageDirectory,
      nodeOptions: [...packageFlags, '--disable-warning=ExperimentalWarning'],
      ...options,
      env: { TENON_DEBUG: 'guard', ...options.env },
    },
  )
}

if (process.platform === 'linux')
  describe('guard mode', () => {
    test('a write behind a segment faults, and the report names the segment', async () => {
      const { signal, stderr, stdout } = await guarded(
        `const segment = scope.allocate(21, 1); memset(segment, 1, 21); console.log('inside'); memset(segment, 1, 22)`,
      )
      expect([signal, stdout]).toEqual(['SIGSEGV', 'inside\n'])
      expect(stderr).toContain('0 bytes behind the end of a segment of 21 bytes of the confined scope "request"')
    })

    test('the call throws GuardError for a write into the gap that alignment leaves', async () => {
      const { code, stdout, stderr } = await guarded(
        `const segment = scope.allocate(20, 16)
         try { memset(segment, 1, 24) } catch (error) { console.log(error.code, error.sentence) }
         memset(segment, 1, 20)
         scope.close()`,
      )
      expect([code, stdout], stderr).toEqual([0, 'TENON_GUARD memset wrote 4 bytes behind argument 1, at offset 20\n'])
    })

    test('the call names bytes before a segment, and counts from the start of a slice', async () => {
      const { code, stdout, stderr } = await guarded(
        `const segment = scope.allocate(20, 16)
         const copy = Linker.downcall(SymbolLookup.ofProcess().get('memcpy'), { result: 'pointer', parameters: ['pointer', 'pointer', 'uint64'] })
         const early = MemorySegment.ofAddress(segment.address - 2n).reinterpret(2)
         for (const run of [() => copy(early, segment, 2), () => copy(segment, segment.asSlice(4), 0), () => memset(segment.asSlice(8), 1, 13)])
           try { run(); console.log('nothing') } catch (error) { console.log(error.sentence, error.details.before, error.details.behind) }`,
      )
      const lines = [
        'memcpy wrote 2 bytes before argument 2, at offset -2 2 0',
        'nothing',
        'memset wrote 1 byte behind argument 1, at offset 12 0 1',
      ]
      expect([code, stdout.trim().split('\n')], stderr).toEqual([0, lines])
    })

    test('an asynchronous call rejects with GuardError', async () => {
      const { code, stdout, stderr } = await guarded(
        `await memset.async(scope.allocate(20, 16), 1, 25).catch((error) => console.log(error.sentence))`,
      )
      expect([code, stdout], stderr).toEqual([0, 'memset wrote 5 bytes behind argument 1, at offset 20\n'])
    })

    test('close() reports a write by address into the gap that alignment leaves', async () => {
      const { code, stdout, stderr } = await guarded(
        `const segment = scope.allocate(20, 16); memset(MemorySegment.ofAddress(segment.address), 1, 24)
         try { scope.close() } catch (error) { console.log(error.code, error.details.before, error.details.after, scope.isAlive) }`,
      )
      expect([code, stdout], stderr).toEqual([0, 'TENON_GUARD 0 4 false\n'])
    })

    test('close() reports a write before a segment', async () => {
      const { stdout, stderr } = await guarded(
        `const segment = scope.allocate(16); memset(MemorySegment.ofAddress(segment.address - 3n), 1, 3)
       try { scope.close() } catch (error) { console.log(error.code, error.details.before, error.details.after) }`,
      )
      expect(stdout, stderr).toBe('TENON_GUARD 3 0\n')
    })

    test('a write to memory of a closed scope faults, and the report names the segment', async () => {
      const { signal, stderr } = await guarded(
        `const { address } = scope.allocate(16); scope.close(); memset(MemorySegment.ofAddress(address), 1, 1)`,
      )
      expect(signal).toBe('SIGSEGV')
      expect(stderr).toContain('after it was freed: a segment of 16 bytes of the confined scope "request"')
    })

    test('the call throws GuardError for a write next to shared memory', async () => {
      const { code, stdout, stderr } = await guarded(
        `const shared = NativeScope.ofShared()
         const segment = shared.allocate(20, 256)
         try { memset(segment, 1, 22) } catch (error) { console.log(error.sentence) }
         shared.close()`,
      )
      expect([code, stdout], stderr).toEqual([0, 'memset wrote 2 bytes behind argument 1, at offset 20\n'])
    })

    test('close() of the allocating handle reports a write next to shared memory', async () => {
      const { code, stdout, stderr } = await guarded(
        `const shared = NativeScope.ofShared({ name: 'model' })
         const token = shared.share()
         const other = ResourceScope.attach(token).scope
         const [own, theirs, fine] = [shared.allocate(20, 256), other.allocate(8), shared.allocate(0)]
         if (own.address % 256n !== 0n || own.getInt32(16) !== 0 || fine.byteSize !== 0) throw new Error('wrong')
         memset(MemorySegment.ofAddress(own.address), 1, 22)
         memset(MemorySegment.ofAddress(theirs.address - 1n), 1, 1)
         for (const end of [() => other.detach(), () => shared.close()]) {
           try { end() } catch ({ code, message, details }) { console.log(code, details.before, details.after, message.includes('of the shared scope "model"')) }
         }
         try { ResourceScope.attach(token) } catch ({ code }) { console.log(code, ResourceScope.stats().openScopes) }`,
      )
      expect([code, stdout], stderr).toEqual([0, 'TENON_GUARD 1 0 true\nTENON_GUARD 0 2 true\nTENON_SCOPE_CLOSED 1\n'])
    })

    test('close() of a damaged scope also reports the error of an action', async () => {
      const { code, stdout, stderr } = await guarded(
        `scope.addCloseAction(() => { throw new Error('own') })
         memset(MemorySegment.ofAddress(scope.allocate(20).address), 1, 21)
         try { scope.close() } catch ({ name, errors }) { console.log(name, errors.map(({ code, message }) => code ?? message).join()) }`,
      )
      expect([code, stdout], stderr).toEqual([0, 'AggregateError own,TENON_GUARD\n'])
    })

    test('collects managed and implicit scopes', async () => {
      const { code, stdout, stderr } = await guarded(
        `let ran = 0
         const openAll = () => {
           for (const open of [() => NativeScope.ofConfined({ managed: true }), () => ResourceScope.ofImplicit()]) {
             const one = open()
             one.addCloseAction(() => ran++)
             if (one.allocate !== undefined) one.allocate(20)
             else MemorySegment.allocateNative(20, 16, one)
           }
         }
         for (let i = 0; i < 20; i++) openAll()
         for (let i = 0; i < 20; i++) { gc(); await new Promise((resolve) => setImmediate(resolve)) }
         console.log(ran >= 38)`,
        { nodeOptions: [...packageFlags, '--disable-warning=ExperimentalWarning', '--expose-gc'] },
      )
      expect([code, stdout], stderr).toEqual([0, 'true\n'])
    })

    test('does not change other behaviour', async () => {
      const { code, stdout, stderr } = await guarded(
        `for (let i = 0; i < 500; i++) {
         const one = NativeScope.ofConfined()
         const segments = [0, 1, 16, 100, 5000].map((size) => one.allocate(size, 16).fill(i & 0xff))
         segments[4].asSlice(10).copyFrom(segments[3])
         if (segments[4].getUint8(4999) !== (i & 0xff) || segments.some(({ address }) => address % 16n !== 0n)) throw new Error('wrong')
         if (one.allocate(64, 8192).address % 8192n !== 0n || one.allocate(8).getInt32(0) !== 0) throw new Error('wrong')
         one.close()
       }
       console.log(JSON.stringify(ResourceScope.stats().liveBytes))`,
      )
      expect([code, stdout], stderr).toEqual([0, '0\n'])
    })

    if (!isSanitized)
      test('one warning says that memory is unguarded when the process has no more mappings', async () => {
        const { code, stdout, stderr } = await guarded(
          `const warnings = []
           process.on('warning', ({ code, message }) => warnings.push(code + (/guarded blocks already/.test(message) ? '' : message)))
           for (let i = 0; i < 40_000; i++) scope.allocate(16).setInt32(0, i)
           const late = scope.allocate(16)
           memset(late, 1, 16)
           scope.close()
           setTimeout(() => console.log(warnings.join()), 10)`,
          { timeout: 60_000 },
        )
        expect([code, stdout], stderr).toEqual([0, 'TENON_UNGUARDED\n'])
      }, 90_000)
  })

if (isSanitized)
  test('AddressSanitizer detects an overflow of an arena allocation, and a use after close', async () => {
    for (const [code, report] of [
      [`const segment = scope.allocate(16); memset(segment, 1, 17)`, 'heap-buffer-overflow'],
      [
        `const { address } = scope.allocate(16); scope.close(); memset(MemorySegment.ofAddress(address), 1, 1)`,
        'heap-use-after-free',
      ],
    ] as const) {
      const { stderr } = await guarded(code, { env: { TENON_DEBUG: '', ASAN_OPTIONS: 'detect_leaks=0' } })
      expect(stderr).toContain(report)
    }
  })
