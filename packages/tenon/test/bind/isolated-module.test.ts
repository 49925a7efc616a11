import { rmSync, writeFileSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ArgumentError, LoadError, ScopeClosedError, ScopeHeldError, UnsupportedError } from '@tenon/core'
import { KernelCrashError, WorkerLostError } from '@tenon/isolate'
import { type Handle, type NativeModule, StatusError } from '@tenon/scope/bind'
import { MemoryLayout, MemorySegment, NativeScope } from '@tenon/scope'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Library, type IsolatedLibrary } from '../../src/index.ts'
import { runTenon } from '../run-tenon.ts'
import { type Bound, compileStore } from './bound-store.ts'

const { directory, annotations, bind } = compileStore()
let bound: Bound
let workers: IsolatedLibrary

/** The module once more, because a module runs in this process or in others. */
const loadAgain = async (name: string, query: string): Promise<Bound> =>
  (await import(`${pathToFileURL(join(directory, name, 'index.js')).href}?${query}`)) as Bound

beforeAll(async () => {
  expect(bind('--annotations', annotations, '--output', 'store').code).toBe(0)
  bound = await loadAgain('store', 'isolated')
  workers = await Library.isolate(bound['library'] as NativeModule, { workers: 1 })
})
afterAll(async () => {
  await workers.closeAsync()
  rmSync(directory, { recursive: true })
})

/** The error that a function throws. */
function errorOf(run: () => unknown): Error {
  try {
    run()
  } catch (error) {
    return error as Error
  }
  throw new Error('nothing was thrown')
}

const live = (): number => bound['store_live']() as number

describe('an isolated module', () => {
  test('has handles, which are closed once, within each other, and refuse later uses', () => {
    const before = live()
    const store = bound['store_open']('path') as Handle
    const cursor = bound['cursor_open'](store, 'q') as Handle
    expect(store).toBeInstanceOf(bound['Store'])
    expect(bound['store_add'](store, 7)).toBe(0)
    expect(bound['cursor_next'](cursor)).toEqual({ value: 1, value_: 7, weight: 3.5 })
    expect(live()).toBe(before + 2)
    store.close()
    expect(live()).toBe(before)
    expect(() => bound['store_add'](store, 1)).toThrow(ScopeClosedError)
    expect(() => bound['cursor_next'](cursor)).toThrow(ScopeClosedError)
  })

  test('throws the errors of statuses, with the text of the library, and closes what a failed call has opened', () => {
    const before = live()
    expect(() => bound['store_open']('bad')).toThrow('store_open returned 6: the path is bad')
    expect(live()).toBe(before)
    using store = bound['store_open']('path') as Handle
    for (let i = 0; i < 4; i++) bound['store_add'](store, i)
    expect(() => bound['store_add'](store, 4)).toThrow(StatusError)
    expect(() => bound['store_add'](store, 4)).toThrow('store_add returned 5: there are 4 values')
    expect(() => bound['cursor_open'](store, 'wrong')).toThrow('the query is wrong')
  })

  test('takes and gives texts, memory, lengths, several results and errno', async () => {
    expect(bound['text_copy']('copied')).toBe('copied')
    expect(bound['mark']('abc')).toBe(253)
    expect(bound['text_copy']('')).toBe('')
    expect(await bound['text_copy'].async('ü'.repeat(10_000))).toBe('ü'.repeat(10_000))
    expect(bound['text_freed']()).toBeGreaterThanOrEqual(3)
    expect(bound['sum'](Int32Array.of(1, 2, 3))).toBe(6)
    expect(await bound['sum'].async(Int32Array.of(1, 2, 3, 4))).toBe(10)
    expect(await bound['divide'].async(17, 5)).toEqual({ quotient: 3, rest: 2 })
    // The memory that C returned with its length is copied.
    const numbers = bound['numbers_of_length']() as MemorySegment
    expect(numbers.toArray(MemoryLayout.int32)).toEqual(Int32Array.of(4, 5, 6))
    expect(bound['set_errno'](13)).toMatchObject({ errno: 13 })
    const bytes = new Uint8Array(4)
    bound['read_into'](bytes, 9)
    expect([...bytes]).toEqual([9, 9, 9, 9])
    using scope = NativeScope.ofConfined()
    const extent = bound['extent_of'](scope, Float64Array.of(3, 1, 2))
    expect([extent.low, extent.high]).toEqual([1, 3])
  })

  test('holds its handles open while a call runs', async () => {
    const store = bound['store_open']('path') as Handle
    bound['store_add'](store, 1)
    const cursor = bound['cursor_open'](store, 'q') as Handle
    const running = bound['cursor_next'].async(cursor) as Promise<unknown>
    expect(() => store.close()).toThrow(ScopeHeldError)
    expect(await running).toMatchObject({ value_: 1 })
    store.close()
  })

  test('gives pointers without annotations that only its functions take', () => {
    const store = bound['store_default'](true) as Handle
    expect(store).toBeInstanceOf(bound['Store'])
    expect(() => store.reinterpret(8)).toThrow(/of process \d+ cannot be used in this one/)
    store.close()
  })

  test('closes handles by functions that take the address of their pointer, and passes such addresses', () => {
    const before = live()
    const [box, other] = [7, 8].map((value) => bound['box_new'](value) as Handle) as [Handle, Handle]
    expect([bound['box_value'](box), live()]).toEqual([7, before + 2])
    box.close()
    bound['box_free'](other)
    expect(live()).toBe(before)
    for (const one of [box, other]) expect(() => one.close()).toThrow(ScopeClosedError)
    expect(bound['box_free'](null)).toBeUndefined()
    const { value, at } = bound['box_step'](bound['box_static']())
    expect([value, bound['box_value'](at)]).toEqual([1, 2])
  })

  test('passes the address of a pointer to the worker that made it', async () => {
    const other = await loadAgain('store', 'two-workers')
    await using _ = await Library.isolate(other['library'] as NativeModule, { workers: 2 })
    const boxes = new Map<string, Handle>()
    for (let i = 0; i < 20; i++) {
      // The other worker makes the box while this one is busy.
      const busy = other['text_copy'].async('x'.repeat(i % 2 === 0 ? 500_000 : 1)) as Promise<string>
      const box = other['box_new'](i) as Handle
      await busy
      boxes.set(/process (\d+)/.exec(errorOf(() => box.reinterpret(4)).message)![1]!, box)
    }
    expect(boxes.size).toBe(2)
    const [first, second] = [...boxes.values()] as [Handle, Handle]
    // The worker of the first one has run the last call.
    other['box_value'](first)
    second.close()
    first.close()
  })

  test('ends a handle only when the other arguments of the function that takes it fit', () => {
    const before = live()
    const store = bound['store_open']('path') as Handle
    expect(() => bound['store_finish'](store, 256, 'r', null)).toThrow(/^code of store_finish must be /)
    expect(() => bound['store_finish'](store, 1, 'a\0b', null)).toThrow(ArgumentError)
    expect(bound['store_add'](store, 7)).toBe(0)
    expect(bound['store_finish'](store, 1, 'r', Int32Array.of(5))).toBe(7)
    expect(() => store.close()).toThrow(ScopeClosedError)
    expect(live()).toBe(before)
  })

  test('closes its handles before it closes', async () => {
    const other = await loadAgain('store', 'closing')
    await using library = await Library.isolate(other['library'] as NativeModule, { workers: 1 })
    const store = other['store_open']('stuck') as Handle
    other['cursor_open'](store, 'q')
    expect(() => other['library'].close()).toThrow('store_close returned 6')
    expect(() => store.close()).toThrow(ScopeClosedError)
    const count = library.function('store_live', { result: 'int32' })
    expect(count()).toBe(0)
  })

  test('refuses functions, arrays of pointers and variables, and says why', () => {
    using store = bound['store_open']('path') as Handle
    expect(() => bound['store_each'](store, () => 1)).toThrow(UnsupportedError)
    expect(() => bound['store_each'](store, () => 1)).toThrow('store_each cannot take a function in another process')
    expect(() => bound['join'](['a'], new Uint8Array(8))).toThrow(
      'join cannot take an array of texts in another process',
    )
    expect(() => bound['keep_text'](null)).toThrow('keep_text cannot take memory that it keeps in another process')
    expect(() => bound['total']([store])).toThrow('total cannot take an array of pointers in another process')
    const api = bound['api'].at(MemorySegment.ofBuffer(new Uint8Array(bound['api'].byteSize)))
    const own = "Import the module a second time, as './module/index.js?own'"
    for (const [run, message] of [
      [() => bound['store_each'](store, () => 1), 'store_each cannot take a function'],
      [() => bound['join'](['a'], new Uint8Array(8)), 'join cannot take an array of texts'],
      [() => api.twice(1), 'the function pointer api.twice cannot be used'],
      [() => bound['store_count'].value, 'the variable store_count cannot be used'],
    ] as const) {
      expect(run).toThrow(UnsupportedError)
      expect(run).toThrow(message)
      expect(run).toThrow(own)
    }
  })

  test('goes on after a crash: its handles end with the worker, and close without a call', async () => {
    const store = bound['store_open']('path') as Handle
    const cursor = bound['cursor_open'](store, 'q') as Handle
    // A pointer that is none.
    expect(() => bound['needs_pointer'](bound['library'].constructor.pointer(64n))).toThrow(KernelCrashError)
    expect(() => bound['store_add'](store, 1)).toThrow(WorkerLostError)
    await expect(bound['cursor_next'].async(cursor)).rejects.toThrow(WorkerLostError)
    store.close()
    expect(() => cursor.close()).toThrow(ScopeClosedError)
    using next = bound['store_open']('path') as Handle
    expect(bound['store_add'](next, 1)).toBe(0)
  })
})

test('tenon bind --report --isolate lists the functions that cannot run in another process, and counts the others', () => {
  const { stdout, code } = bind('--annotations', annotations, '--report', '--isolate')
  expect(code).toBe(0)
  const lines = stdout.split('\n').filter((line) => line.includes('another process'))
  const problems = (text: string): string[] =>
    lines.flatMap((line) => (line.includes(text) ? [/:\d+ (\w+):/.exec(line)![1]!] : []))
  expect(problems('takes a function')).toEqual(['store_each', 'store_keep', 'nested'])
  expect(problems('takes an array of texts')).toEqual(['join', 'open_many'])
  expect(problems('takes an array of pointers')).toEqual(['total', 'visit_all'])
  expect(problems('keeps memory after the call')).toEqual(['keep_text'])
  expect(lines.at(-1)).toMatch(/^(\d+) of \d+ functions can run in another process$/)
  expect(bind('--isolate', '--output', 'x')).toMatchObject({ code: 2 })
  // Without annotations, the addresses that C writes to memory cannot be told from others.
  const plain = bind('--report', '--isolate').stdout
  expect(plain).toMatch(/store_open: takes memory with pointers \(annotate it as a result\), not in another process/)
})

describe('Library.isolate() of a module', () => {
  test('must come before the first call, and once', async () => {
    const used = await loadAgain('store', 'used')
    used['store_live']()
    await expect(Library.isolate(used['library'] as NativeModule)).rejects.toThrow(
      /^a module must be isolated before its first call/,
    )
    await expect(Library.isolate(bound['library'] as NativeModule)).rejects.toThrow(ArgumentError)
    const other = await loadAgain('store', 'node')
    await expect(Library.isolate(other['library'] as NativeModule, { host: 'node' })).rejects.toThrow(
      "a module must be isolated with host 'native', got 'node'",
    )
    await expect(Library.isolate({} as NativeModule)).rejects.toThrow(ArgumentError)
  })

  test('leaves a module in this process as it is', async () => {
    const own = await loadAgain('store', 'own')
    using store = own['store_open']('path') as Handle
    expect(own['store_each'](store, () => 1)).toBe(0)
    expect(() => bound['store_add'](store, 1)).toThrow(/^store of store_add must be memory whose size is known/)
  })

  test('finds functions that a library lacks', () => {
    const { library } = bound as { library: NativeModule }
    expect([library.has('store_open'), library.has('missing')]).toEqual([true, false])
    expect(() => library.link('missing', {})).toThrow(LoadError)
  })

  test('calls functions of a shim', async () => {
    const header = join(directory, 'inline.h')
    writeFileSync(header, 'static inline int twice(int value) { return 2 * value; }\n')
    const empty = join(directory, 'libempty.so')
    writeFileSync(join(directory, 'empty.c'), 'int empty(void) { return 0; }\n')
    execFileSync(process.env['CC'] ?? 'cc', ['-shared', '-fPIC', '-o', empty, join(directory, 'empty.c')])
    expect(bind('--library', empty, '--report').stderr).not.toContain('exports none')
    const wrong = runTenon(['bind', join(import.meta.dirname, 'store.h'), '--library', empty, '--report'])
    expect(wrong.stderr).toContain('the library exports none of the functions: is it that of these headers?')
    const { code, stderr } = bindAny(header, empty)
    expect({ code, stderr }).toMatchObject({ code: 0 })
    const inline = await loadAgain('inline', 'isolated')
    await using _ = await Library.isolate(inline['library'] as NativeModule, { workers: 1 })
    expect(inline['twice'](21)).toBe(42)
  })
})

function bindAny(header: string, library: string): { code: number | null; stderr: string } {
  return runTenon(['bind', header, '--library', library, '--shim', '--output', 'inline'], { cwd: directory })
}
