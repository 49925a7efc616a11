import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ArgumentError, ScopeClosedError, ScopeHeldError } from '@tenon/core'
import { MemorySegment, ResourceScope } from '@tenon/scope'
import { type Handle, StatusError } from '@tenon/scope/bind'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Bound, compileStore } from './bound-store.ts'
import { typeCheck } from './type-check.ts'

const { directory, annotations, bind, load } = compileStore()
afterAll(() => rmSync(directory, { recursive: true }))

let bound: Bound

beforeAll(async () => {
  const { code, stderr } = bind('--annotations', annotations, '--output', 'store')
  expect(stderr).toMatch(/functions, 6 constants, 3 structs, 1 variable, 4 handles in/)
  expect(code).toBe(0)
  bound = await load('store')
})

/** The module once more, because a module that was closed stays so. */
const loadAgain = async (query: string): Promise<Bound> =>
  (await import(`${pathToFileURL(join(directory, 'store', 'index.js')).href}?${query}`)) as Bound

/** The error that a function throws. */
function errorOf(run: () => void): unknown {
  try {
    run()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

const fail = (): never => {
  throw new Error('the child is stuck')
}

const live = (): number => bound['store_live']() as number

/** Runs a function with a new store, and expects that everything is closed after it. */
function withStore(use: (store: Handle) => void): void {
  const before = live()
  const store = bound['store_open']('path') as Handle
  try {
    use(store)
  } finally {
    store[Symbol.dispose]()
  }
  expect(live()).toBe(before)
}

describe('a handle', () => {
  test('is closed by a function that takes the address of its pointer, and is closed by calling that function', () => {
    const before = live()
    const box = bound['box_new'](7) as Handle
    const other = bound['box_new'](8) as Handle
    expect([bound['box_value'](box), live()]).toEqual([7, before + 2])
    box.close()
    expect(live()).toBe(before + 1)
    expect(() => bound['box_value'](box)).toThrow(ScopeClosedError)
    bound['box_free'](other)
    expect(live()).toBe(before)
    expect(() => other.close()).toThrow(ScopeClosedError)
    expect(() => bound['box_free'](other)).toThrow(ScopeClosedError)
    expect(bound['box_free'](null)).toBeUndefined()
    expect(() => bound['box_free'](Int32Array.of(1))).toThrow('box must be a pointer or null')
    expect(live()).toBe(before)
  })

  test('closes its object once, and refuses every use after that', () => {
    const before = live()
    const store = bound['store_open']('path') as Handle
    expect(store).toBeInstanceOf(bound['Store'])
    expect(store).toBeInstanceOf(MemorySegment)
    expect(String(store)).toMatch(/^Store at 0x[\da-f]+$/)
    expect(live()).toBe(before + 1)
    store.close()
    store[Symbol.dispose]()
    expect(live()).toBe(before)
    expect(() => bound['store_add'](store, 1)).toThrow(ScopeClosedError)
    expect(() => bound['store_add'](store, 1)).toThrow('the Store is closed already')
    expect(() => bound['cursor_open'](store, 'q')).toThrow(ScopeClosedError)
    expect(() => bound['total']([store])).toThrow(ScopeClosedError)
    expect(() => store.close()).toThrow(ScopeClosedError)
    expect(() => bound['store_close'](store)).toThrow(ScopeClosedError)
    expect(String(store)).toMatch(/, closed$/)
  })

  test('closes the handles within it before itself, the newest first', () => {
    withStore((store) => {
      const cursors = ['a', 'b'].map((query) => bound['cursor_open'](store, query) as Handle)
      cursors[0]!.close()
      store.close()
      expect(() => bound['cursor_next'](cursors[1])).toThrow('the Cursor is closed already')
    })
  })

  test('is not closed while a call uses it or a handle within it', () => {
    withStore((store) => {
      bound['store_add'](store, 1)
      const cursor = bound['cursor_open'](store, 'a') as Handle
      expect(() => bound['store_each'](store, () => (store.close(), 0))).toThrow(ScopeHeldError)
      expect(() => bound['visit_all']([store, null], () => (store.close(), 0))).toThrow(ScopeHeldError)
      const hold = cursor.pin()
      expect(() => store.close()).toThrow(ScopeHeldError)
      expect(bound['cursor_next'](cursor)).toMatchObject({ weight: 0.5 })
      hold.release()
    })
  })

  test('ends when its own function closes it, and when another function takes it', () => {
    const before = live()
    const first = bound['store_open']('path') as Handle
    expect(bound['store_close'](first)).toBe(0)
    const second = bound['store_open']('path') as Handle
    const cursor = bound['cursor_open'](second, 'a') as Handle
    expect(bound['store_destroy'](second)).toBe(7)
    expect(live()).toBe(before)
    for (const handle of [first, second, cursor]) expect(() => handle.close()).toThrow(ScopeClosedError)
  })

  test('ends only when the other arguments of the function that takes it fit', async () => {
    const before = live()
    const store = bound['store_open']('path') as Handle
    const cursor = bound['cursor_open'](store, 'a') as Handle
    const finish = bound['store_finish']
    expect(() => finish(store, 256, 'r', null)).toThrow(/^code of store_finish must be /)
    expect(() => finish(store, 1, 5, null)).toThrow(/^reason of store_finish must be /)
    expect(() => finish(store, 1, 'a\0b', null)).toThrow(ArgumentError)
    expect(() => finish(store, 1, 'r', 5)).toThrow(/^values of store_finish must be /)
    expect(() => finish(store, 1, 'r')).toThrow(/^values of store_finish must be .*, got undefined$/m)
    await expect(finish.async(store, 1, 'r', new Int32Array(1))).rejects.toThrow(/^values of store_finish must be /)
    await expect(finish.async(store, 1, 'a\0b', null)).rejects.toThrow(ArgumentError)
    expect(bound['cursor_next'](cursor)).toMatchObject({ weight: 0 })
    expect(live()).toBe(before + 2)
    expect(finish(store, 1, 'abc', Int32Array.of(10))).toBe(14)
    for (const handle of [store, cursor]) expect(() => handle.close()).toThrow(ScopeClosedError)
    const other = bound['store_open']('path') as Handle
    expect(await finish.async(other, 2, 'a', null)).toBe(3)
    expect(() => other.close()).toThrow(ScopeClosedError)
    expect(live()).toBe(before)
  })

  test('is closed before its library, the newest first', async () => {
    const before = live()
    const module = await loadAgain('first')
    const [old, middle, young] = [1, 2, 3].map((count) => {
      const store = module['store_open']('path') as Handle
      for (let i = 0; i < count; i++) module['store_add'](store, i)
      return store
    }) as [Handle, Handle, Handle]
    const cursor = module['cursor_open'](old, 'a') as Handle
    middle.close()
    const hold = cursor.pin()
    expect(() => module['library'].close()).toThrow(ScopeHeldError)
    expect(live()).toBe(before + 3)
    hold.release()
    module['library'].close()
    // The one that was closed last is the oldest, after the cursor within it.
    expect([live(), bound['store_last'](), bound['store_early']()]).toEqual([before, 1, 0])
    for (const handle of [old, young, cursor]) {
      expect(() => handle.close()).toThrow(ScopeClosedError)
      handle[Symbol.dispose]()
    }
    expect(() => module['store_add'](old, 1)).toThrow(ScopeClosedError)
  })

  test('that cannot be closed does not keep its library from closing, which throws the errors', async () => {
    const before = live()
    const module = await loadAgain('stuck')
    for (const path of ['stuck', 'path', 'stuck']) module['store_open'](path)
    const error = errorOf(() => module['library'].close()) as AggregateError
    expect(error).toBeInstanceOf(AggregateError)
    expect(error.message).toMatch(/^closing NativeModule of .* failed in 2 ways$/)
    expect(error.errors.map(({ constructor }) => constructor)).toEqual([StatusError, StatusError])
    expect(live()).toBe(before)
    expect(() => module['store_live']()).toThrow(ScopeClosedError)
    // A child that cannot be closed does not leave its parent open.
    const parent = bound['store_open']('path') as Handle
    const borrowed = bound['store_default'](true) as Handle
    const child = bound['Cursor'].own(borrowed, fail, { within: parent }) as Handle
    expect(() => bound['store_destroy'](parent)).toThrow('the child is stuck')
    expect(() => parent.close()).toThrow(ScopeClosedError)
    expect(() => child.close()).toThrow(ScopeClosedError)
    borrowed.close()
    expect(live()).toBe(before)
  })

  test('is refused where a pointer is null, unless that is allowed', () => {
    expect(() => bound['store_default'](false)).toThrow(StatusError)
    expect(() => bound['store_default'](false)).toThrow(
      'store_default failed: C returned a null pointer instead of a Store',
    )
    withStore((store) => {
      expect(bound['cursor_open_nullable'](store)).toBeNull()
      bound['store_add'](store, 1)
      expect(bound['cursor_open_nullable'](store)).toBeInstanceOf(bound['Cursor'])
    })
    bound['store_default'](true).close()
  })

  test('leaves nothing behind after 100,000 handles within one', () => {
    withStore((store) => {
      const before = live()
      const { openScopes } = ResourceScope.stats()
      for (let i = 0; i < 100_000; i++) bound['cursor_open'](store, 'q').close()
      expect(live()).toBe(before)
      expect(ResourceScope.stats().openScopes).toBe(openScopes)
    })
  })

  test('that was forgotten is closed by the garbage collector if the annotations say so, those within it first', () => {
    const close = { finalize: true, close: 'cursor_close', within: 'store', handle: 'Cursor' }
    const finalized = {
      tenon: 1,
      functions: {
        store_open: {
          out: 'result',
          return: 'omit',
          result: { handle: 'Store', close: 'store_close', finalize: true },
        },
        cursor_open: { length: 'length(query)', tail: 'omit', out: { result: close }, return: 'omit' },
      },
    }
    writeFileSync(join(directory, 'finalized.json'), JSON.stringify(finalized))
    expect(bind('--annotations', 'finalized.json', '--output', 'finalized').code).toBe(0)
    const program = join(directory, 'forget.mjs')
    writeFileSync(
      program,
      `import { setImmediate } from 'node:timers/promises'
       import * as bound from './finalized/index.js'
       for (let i = 0; i < 300; i++) {
         const store = bound.store_open('x')
         for (let j = 0; j < 3; j++) bound.cursor_open(store, 'q')
       }
       const kept = bound.cursor_open(bound.store_open('x'), 'q')
       const before = bound.store_live()
       for (let i = 0; i < 100 && bound.store_live() >= 10; i++) {
         gc()
         await setImmediate()
       }
       console.log(before, bound.store_live() < 10, bound.store_early())
       kept.close()`,
    )
    expect(execFileSync(process.execPath, ['--expose-gc', program], { encoding: 'utf8' })).toBe('1202 true 0\n')
  })

  test('of the wrong kind is refused by the compiler, and everything has its type', () => {
    const text = `
      import { NativeScope } from 'tenon/scope'
      import * as bound from './store/index.js'
      using scope = NativeScope.ofConfined()
      using store = bound.store_open('path')
      const typed: bound.Store = store
      using cursor = bound.cursor_open(store, 'query')
      const next: { readonly value: number; readonly value_: number; readonly weight: number } = { ...bound.cursor_next(cursor) }
      const later: Promise<string | null> = bound.text_copy.async('a')
      const maybe: bound.Cursor | null = bound.cursor_open_nullable(store)
      const parts: { readonly quotient: number; readonly rest: number } = bound.divide(7, 2)
      const closed: number = bound.store_close(store)
      const three: number = bound.grow(1)
      const extent: bound.extent = bound.extent_read(scope, new Float64Array(2))
      const many: bound.Store[] = bound.open_many(['a'])
      const squares: number[] = bound.squares(3)
      const text: string = bound.certainly(true)
      const read: number | null = bound.cursor_read(cursor)
      const twice: Promise<number> = bound.api.of(bound.get_api()).twice.async(1)
      const errno: { readonly value: number; readonly errno: number } = bound.set_errno(1)
      const made: bound.ApiStore = bound.api.of(bound.get_api()).make(1)
      bound.total([store, null])
      // @ts-expect-error a cursor is not a store
      bound.store_add(cursor, 1)
      // @ts-expect-error another thread must not use memory of JavaScript
      void bound.sum.async(new Int32Array(1))
      // @ts-expect-error C keeps the text
      bound.keep_text('text')
      // @ts-expect-error null is refused
      bound.needs_pointer(null)
      // @ts-expect-error the length is not passed
      bound.sum(new Int32Array(1), 1)
      export { typed, next, later, maybe, parts, closed, three, extent, many, squares, text, errno, made, read, twice }`
    expect(typeCheck(directory, 'use-store.ts', text)).toBe('')
  })
})
