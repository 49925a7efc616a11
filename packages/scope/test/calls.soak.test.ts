import { packageFlags } from '@tenon/config/package-flags'
import { quarantine } from '@tenon/config/sanitizer'
import { driverInfo, NativeLibrary } from '@tenon/core'
import { coreLibrary } from '@tenon/core/internal'
import { runScript } from '@tenon/core/testing'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { MemoryLayout, type MemorySegment, NativeScope, ResourceScope } from '../src/index.ts'
import { Linker, SymbolLookup, upcallStub } from '../src/linker.ts'
import { packageDirectory } from './support/worker.ts'

const MIB = 2 ** 20
const isSoak = process.env['TENON_SOAK'] === '1'
/** A part of the numbers that the rules name, unless this is a soak. */
const share = (count: number): number => (isSoak ? count : count / 20)

/** The growth of the process that is allowed, in bytes. */
const ALLOWED = 10 * MIB + quarantine

const fixture = join(dirname(coreLibrary().path), 'libcore_fixture.so')
NativeLibrary.open(fixture).close()

const scope = ResourceScope.ofConfined()
const lookup = SymbolLookup.ofLibrary(fixture, scope)
const int32ToInt32 = { result: 'int32', parameters: ['int32'] } as const
const callFunction = Linker.downcall(lookup.get('fixture_call_function'), {
  result: 'int32',
  parameters: ['pointer', 'int32'],
})
const callOften = Linker.downcall(lookup.get('fixture_call_often'), {
  result: 'int64',
  parameters: ['pointer', 'int32'],
})
const pair = MemoryLayout.struct({ quot: MemoryLayout.int32, rem: MemoryLayout.int32 })

/** The memory of the process outside the heap of the engine, and on it. */
function memory(): [native: number, heap: number] {
  globalThis.gc!()
  const { rss, heapTotal, heapUsed } = process.memoryUsage()
  return [rss - heapTotal, heapUsed]
}

const ROUNDS = 4

/**
 * Runs a loop several times, and checks that the memory stops growing. A leak adds memory in each round. The first rounds
 * compile code, and the engine does not give back all memory of a heap that has shrunk.
 */
async function expectFlat(count: number, run: (count: number) => unknown, perRun = 0): Promise<void> {
  await run(count)
  const growths: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const [native, heap] = memory()
    await run(count)
    const [nativeAfter, heapAfter] = memory()
    growths.push(Math.max(nativeAfter - native - perRun * count, heapAfter - heap))
    if (growths.at(-1)! < ALLOWED) break
  }
  expect(Math.min(...growths)).toBeLessThan(ALLOWED)
}

test('functions that are linked and dropped leave no memory behind', { timeout: 600_000 }, async () => {
  const abs = SymbolLookup.ofProcess().get('abs')
  await expectFlat(share(1_000_000), (count) => {
    for (let i = 0; i < count; i++) Linker.downcall(abs, int32ToInt32)
  })
})

/** Native code may keep the address of a dead stub, so its code and its slot are not used again. */
const DEAD_STUB = 48

test('a stub that is closed leaves at most its address behind', { timeout: 600_000 }, async () => {
  await expectFlat(
    share(100_000),
    (count) => {
      for (let i = 0; i < count; i++) {
        ResourceScope.ofConfined().run((own) =>
          callFunction(
            upcallStub((x) => x, int32ToInt32, own),
            i,
          ),
        )
      }
    },
    DEAD_STUB,
  )
})

test('a stub whose address may be reused leaves nothing behind', { timeout: 600_000 }, async () => {
  const { dead } = driverInfo().stubs
  await expectFlat(share(100_000), (count) => {
    for (let i = 0; i < count; i++) {
      ResourceScope.ofConfined().run((own) => upcallStub((x) => x, int32ToInt32, own, { unsafeReuse: true }))
    }
  })
  expect(driverInfo().stubs.dead).toBeLessThanOrEqual(dead + 1)
})

test('the upcalls of one call leave no memory behind', { timeout: 600_000 }, async () => {
  const stub = upcallStub((x: number) => (x < 0 ? 0 : 1), int32ToInt32, scope)
  await expectFlat(share(10_000_000), (count) => expect(callOften(stub, count)).toBe(BigInt(count)))
})

test('nested upcalls with structs, and those that throw, leave no memory behind', { timeout: 600_000 }, async () => {
  using own = NativeScope.ofConfined()
  const target = own.allocate(8, 4)
  const identity = upcallStub((value: MemorySegment) => value, { result: pair, parameters: [pair] }, own)
  const callIdentity = Linker.downcall(identity, { result: pair, parameters: [pair] })
  const failing = upcallStub(
    () => {
      throw new Error('expected')
    },
    int32ToInt32,
    own,
  )
  const nested = upcallStub(
    (x: number) => {
      callIdentity(() => target, target)
      try {
        callFunction(failing, x)
      } catch {
        return 1
      }
      return 0
    },
    int32ToInt32,
    own,
  )
  await expectFlat(share(200_000), (count) => expect(callOften(nested, count)).toBe(BigInt(count)))
})

test('asynchronous calls whose upcalls wait for this thread leave no memory behind', { timeout: 600_000 }, async () => {
  const stub = upcallStub((x: number) => x & 1, int32ToInt32, scope, { foreignThread: 'wait' })
  await expectFlat(share(100_000), async (count) => {
    for (let i = 0; i < count; i += 50) await Promise.all(Array.from({ length: 50 }, () => callOften.async(stub, 2)))
  })
})

// In a process of its own, because the process can make no stub afterwards.
if (isSoak) {
  test('a process that has used 1,048,576 addresses for stubs refuses more', { timeout: 600_000 }, async () => {
    const script = `
      import { ResourceScope } from '@tenon/scope'
      import { Linker, upcallStub } from '@tenon/scope/linker'
      const signature = { result: 'int32', parameters: ['int32'] }
      const first = upcallStub((x) => x + 1, signature, ResourceScope.ofConfined())
      let made = 1
      try {
        for (;; made++) ResourceScope.ofConfined().run((own) => upcallStub(() => 0, signature, own))
      } catch (error) {
        console.log(made, error.code, error.message.includes('unsafeReuse'), Linker.downcall(first, signature)(1))
      }`
    const { stdout, stderr } = await runScript(script, {
      cwd: packageDirectory,
      nodeOptions: [...packageFlags, '--disable-warning=ExperimentalWarning'],
      timeout: 600_000,
    })
    expect([stdout, stderr]).toEqual(['1048576 TENON_ALLOCATION true 2\n', ''])
  })
}
