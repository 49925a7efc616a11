import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ArgumentError, ScopeClosedError, ScopeHeldError } from '@tenon/core'
import { MemorySegment, NativeScope, ResourceScope, toCString } from '@tenon/scope'
import { type Handle, StatusError, textOf } from '@tenon/scope/bind'
import { Linker, SymbolLookup } from '@tenon/scope/linker'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Bound, compileStore } from './bound-store.ts'

const { directory, annotations, bind, load } = compileStore()
afterAll(() => rmSync(directory, { recursive: true }))

let bound: Bound

beforeAll(async () => {
  const { code, stderr } = bind('--annotations', annotations, '--output', 'store')
  expect(stderr).toMatch(/functions, 6 constants, 3 structs, 1 variable, 4 handles in/)
  expect(code).toBe(0)
  bound = await load('store')
})

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

describe('a status', () => {
  test('is thrown with its code and the text of the object of the call', () => {
    withStore((store) => {
      for (const value of [1, 2, 3, 4]) expect(bound['store_add'](store, value)).toBe(0)
      let thrown: unknown
      try {
        bound['store_add'](store, 5)
      } catch (error) {
        thrown = error
      }
      expect(thrown).toBeInstanceOf(StatusError)
      expect(thrown).toMatchObject({
        code: 'TENON_STATUS',
        status: 5,
        sentence: 'store_add returned 5: there are 4 values',
        details: { name: 'store_add', status: 5, text: 'there are 4 values' },
      })
      expect(() => bound['cursor_open'](store, 'wrong')).toThrow('cursor_open returned 6: the query is wrong')
    })
  })

  test('of a handle without a text of its own has that of the handle within which it lives', () => {
    withStore((store) => {
      const cursor = bound['cursor_open'](store, 'q')
      expect(() => bound['cursor_fail'](cursor)).toThrow('cursor_fail returned 6: the cursor failed')
    })
  })

  test('has the text of the status where there is no object', () => {
    expect(() => bound['last_failed'](5)).toThrow('last_failed returned 5: it is full')
    expect(bound['last_failed'](1)).toBe(1)
  })

  test('without a result gives null, or the status where nothing else is a result', () => {
    withStore((store) => {
      bound['store_add'](store, 7)
      bound['store_add'](store, 8)
      const cursor = bound['cursor_open'](store, 'q')
      expect([bound['cursor_read'](cursor), bound['cursor_skip'](cursor)]).toEqual([7, 0])
      expect([bound['cursor_read'](cursor), bound['cursor_skip'](cursor)]).toEqual([null, -31])
    })
  })

  test('that is a failure closes an object that C has made nevertheless', () => {
    const before = live()
    expect(() => bound['store_open']('bad')).toThrow('store_open returned 6: the path is bad')
    expect(live()).toBe(before)
  })

  test('can be the lowest one, and its text a member of a struct', async () => {
    const statuses = {
      tenon: 1,
      functions: { 'last_*': { return: 'status' } },
      status: { success: '>= 0', message: 'last_failure().text' },
    }
    writeFileSync(join(directory, 'last.json'), JSON.stringify(statuses))
    expect(bind('--annotations', 'last.json', '--output', 'last').code).toBe(0)
    const last = await load('last')
    expect(last['last_failed'](3)).toBe(3)
    expect(() => last['last_failed'](-1)).toThrow('last_failed returned -1: the third failure')
    expect(last['last_failure']()).toBeInstanceOf(MemorySegment)
  })
})

describe('results', () => {
  test('leave the list of parameters, and several are an object', () => {
    expect(bound['divide'](17, 5)).toEqual({ quotient: 3, rest: 2 })
    expect(bound['find_text']('x')).toBe('found')
    expect(bound['find_text']('')).toBeNull()
    expect(bound['read_flags']()).toEqual({ value: 6n, out: 2n ** 64n - 1n })
    expect(() => bound['divide'](1, 0)).toThrow(StatusError)
  })

  test('that C reads first are passed and returned', () => {
    expect(bound['grow'](14)).toBe(42)
    expect(() => bound['grow'](bound['box_static']())).toThrow(ArgumentError)
    const { value, at } = bound['box_step'](bound['box_static']())
    expect([value, bound['box_value'](at), bound['box_step'](at).at.address]).toEqual([1, 2, 0n])
    const values = new Int32Array(5)
    expect(bound['fill_some'](values)).toEqual({ value: 5, count: 2n })
    expect([...values]).toEqual([9, 9, 0, 0, 0])
  })

  test('that are structs are in memory from an allocator', () => {
    using scope = NativeScope.ofConfined()
    const values = Float64Array.of(3, -1, 2)
    const extent = bound['extent_read'](scope, values)
    expect([extent.low, extent.high]).toEqual([-1, 3])
    const returned = bound['extent_of'](scope, values)
    expect([returned.low, returned.high]).toEqual([-1, 3])
    expect(() => bound['extent_read'](scope, new Float64Array(0))).toThrow(StatusError)
  })

  test('can be as many as an array has elements, or as a number says', () => {
    expect(bound['squares'](4)).toEqual([0, 1, 4, 9])
    expect(bound['squares'](0)).toEqual([])
    for (const count of [-1, 1.5, 2 ** 31 - 1, 2n ** 40n]) expect(() => bound['squares'](count)).toThrow(RangeError)
    const before = live()
    const stores = bound['open_many'](['a', 'b', 'c']) as Handle[]
    expect(stores.map((store) => store.constructor.name)).toEqual(['Store', 'Store', 'Store'])
    expect(live()).toBe(before + 3)
    for (const store of stores) store.close()
    expect(live()).toBe(before)
  })

  test('are text, numbers and memory of a length as the annotations say', () => {
    expect(bound['text_bytes'](1)).toBe('grün')
    expect(bound['text_bytes'](0)).toBeNull()
    expect(bound['text_of_length']()).toBe('abc')
    const numbers = bound['numbers_of_length']() as MemorySegment
    expect([numbers.byteSize, numbers.getInt32(8)]).toEqual([12, 6])
    expect(bound['large'](false)).toBe(2 ** 40)
    expect(() => bound['large'](true)).toThrow(RangeError)
    expect(bound['certainly'](true)).toBe('there')
    expect(() => bound['certainly'](false)).toThrow(StatusError)
  })

  test('that are text are freed once after they are copied', () => {
    const before = bound['text_freed']() as number
    expect(bound['text_copy']('grün')).toBe('grün')
    expect(bound['text_copy'](null)).toBeNull()
    expect(bound['text_freed']()).toBe(before + 1)
  })

  test('of a critical function are those of a call on the stack of JavaScript, which can call no function of TypeScript', () => {
    using scope = NativeScope.ofConfined()
    const types = { result: 'int32', parameters: ['int32'] } as const
    const twice = Linker.upcallStub((value: number) => 2 * value, types, scope)
    expect(() => bound['call_at'](twice, 4)).toThrow('call_at is not critical')
    expect(bound['call_at'](SymbolLookup.ofProcess().get('abs'), -4)).toBe(4)
  })

  test('have errno', () => {
    expect(bound['set_errno'](2)).toEqual({ value: -1, errno: 2 })
    expect(bound['set_errno'](0)).toMatchObject({ value: 0 })
  })

  test('stay apart when callbacks call the function again', () => {
    const call = (depth: number): number => (bound['nested'](depth, call) as { value: number; out: number }).value
    expect(bound['nested'](20, call)).toEqual({ value: 0, out: 20 })
  })
})

describe('arguments', () => {
  test('have the names of their parameters in messages, also those whose length is counted', () => {
    expect(() => bound['divide']('x', 5)).toThrow(/^value of divide must be .*, got "x"$/m)
    expect(() => bound['sum'](5)).toThrow(/^values of sum must be /)
    expect(() => bound['mark'](5)).toThrow(/^text of mark must be /)
    expect(() => bound['mark']('a\0b')).toThrow(/^text of mark must not contain U\+0000/)
    expect(() => bound['divide'](1)).toThrow(/^by of divide must be .*, got undefined$/m)
    expect(() => bound['join'](['a'], 5)).toThrow(/^out of join must be .*, got 5$/m)
    expect(() => bound['squares'](-1)).toThrow(/^count of squares must be /)
  })

  test('with a constant value are not passed', async () => {
    expect(bound['mark']('abc')).toBe(253)
    expect(await bound['mark'].async('ü')).toBe(252)
    expect(() => bound['mark'](5)).toThrow(ArgumentError)
  })

  test('have their length counted in elements', () => {
    expect(bound['sum'](Int32Array.of(1, 2, 3))).toBe(6)
    expect(bound['sum'](null)).toBe(0)
    using scope = NativeScope.ofConfined()
    const memory = scope.allocate(8, 4)
    memory.setInt32(4, 5)
    expect(bound['sum'](memory)).toBe(5)
    expect(bound['read_into'](new Uint16Array(3), 7)).toBe(6)
    expect(() => bound['sum'](scope.allocate(6))).toThrow('elements of 4 bytes, got 6 bytes')
    expect(() => bound['sum'](MemorySegment.ofAddress(memory.address))).toThrow('whose size is unknown')
    expect(() => bound['sum']('text' as never)).toThrow(ArgumentError)
  })

  test('can be arrays of texts and of pointers, which end with null', () => {
    const out = new Uint8Array(32)
    const length = bound['join'](['a', null, 'grün'], out) as number
    expect(Buffer.from(out.subarray(0, length)).toString()).toBe('a;-;grün;')
    expect(bound['join']([], out)).toBe(0)
    const endless = Object.assign(['a'], {
      *[Symbol.iterator]() {
        for (;;) yield 'x'
      },
    })
    expect(bound['join'](endless, out)).toBe(2)
    const long = new Proxy(['a'], { get: (array, key) => (key === 'length' ? 1e9 : Reflect.get(array, key)) })
    expect(() => bound['join'](long, out)).toThrow(
      'texts of join must be an array of at most 16777216 elements, got 1000000000',
    )
    expect(bound['join'](null, out)).toBe(-1)
    expect(() => bound['join'](['a\0b'], out)).toThrow(ArgumentError)
    expect(() => bound['join']([5], out)).toThrow('element 0 of texts must be a text or null, got 5')
    expect(() => bound['join']('abc', out)).toThrow('texts must be an array of texts or null')
    withStore((store) => {
      bound['store_add'](store, 1)
      expect(bound['total']([store, store, null])).toBe(102)
    })
  })

  test('can be text also where C does not say const char', () => {
    expect(bound['text_length']('grün')).toBe(5)
  })

  test('that C keeps are segments, and those that must not be null are checked', () => {
    using scope = NativeScope.ofConfined()
    const text = toCString('kept', scope)
    expect(bound['keep_text'](text).address).toBe(text.address)
    expect(bound['kept_text']()).toBe('kept')
    expect(() => bound['keep_text']('text')).toThrow('because C keeps the pointer')
    expect(() => bound['needs_pointer'](null)).toThrow('because C does not accept null')
    expect(bound['needs_pointer'](Int32Array.of(8))).toBe(8)
  })

  test('that are texts live as long as results that lead into them are read', () => {
    const long = 'ä'.repeat(200_000)
    for (const text of ['abc', long]) {
      expect(bound['skip_first'](`-${text}`)).toBe(text)
      expect(bound['find_second'](`-${text}`)).toBe(text)
    }
  })

  test('that are texts are refused where the caller keeps a pointer into them', async () => {
    const pointers = { skip_first: { return: 'pointer' }, find_second: { out: { result: 'pointer' }, return: 'omit' } }
    writeFileSync(join(directory, 'pointers.json'), JSON.stringify({ tenon: 1, functions: pointers }))
    expect(bind('--annotations', 'pointers.json', '--output', 'pointers').code).toBe(0)
    expect(bind('--output', 'plain').code).toBe(0)
    const [kept, plain] = await Promise.all([load('pointers'), load('plain')])
    using scope = NativeScope.ofConfined()
    const [text, out] = [toCString('abc', scope), scope.allocate(8, 8)]
    for (const name of ['skip_first', 'find_second']) {
      expect(() => kept[name]('abc')).toThrow('because C keeps the pointer')
      expect(textOf(kept[name](text))).toBe('bc')
    }
    expect(() => plain['find_second']('abc', out)).toThrow(
      'text must be a segment, because C keeps the pointer, got "abc"',
    )
    expect(plain['find_second']('abc', null)).toBe(0)
    expect(plain['find_second'](text, out)).toBe(0)
    expect(out.getUint64(0)).toBe(text.address + 1n)
    expect(plain['skip_first']('abc')).toBe('bc')
  })

  test('that are functions for one call end with it', () => {
    const { liveStubs } = ResourceScope.stats()
    withStore((store) => {
      bound['store_add'](store, 20)
      expect(bound['store_each'](store, (value: number) => value + 1)).toBe(21)
      expect(() =>
        bound['store_each'](store, () => {
          throw new Error('from the callback')
        }),
      ).toThrow('from the callback')
    })
    bound['store_keep'](() => 5)
    expect(bound['store_call_kept'](1)).toBe(0)
    expect(ResourceScope.stats().liveStubs).toBe(liveStubs)
  })
})

describe('an asynchronous call', () => {
  test('gives the same results as the call', async () => {
    await expect(bound['divide'].async(17, 5)).resolves.toEqual({ quotient: 3, rest: 2 })
    await expect(bound['text_copy'].async('grün')).resolves.toBe('grün')
    using scope = NativeScope.ofConfined()
    const memory = scope.allocate(8, 4)
    memory.setInt32(4, 3)
    await expect(bound['sum'].async(memory)).resolves.toBe(3)
    await expect(bound['sum'].async(Int32Array.of(1, 2))).rejects.toThrow('must be memory of an allocator')
    await expect(bound['set_errno'].async(4)).resolves.toEqual({ value: -1, errno: 4 })
    const many = await Promise.all(
      Array.from({ length: 50 }, (_, i) => bound['divide'].async(i, 7) as Promise<{ rest: number }>),
    )
    expect(many.map(({ rest }) => rest)).toEqual(Array.from({ length: 50 }, (_, i) => i % 7))
  })

  test('rejects with the errors of the call', async () => {
    await expect(bound['divide'].async(1, 0)).rejects.toThrow(StatusError)
    await expect(bound['divide'].async('x', 1)).rejects.toThrow(ArgumentError)
    const store = bound['store_open']('path') as Handle
    const cursor = bound['cursor_open'](store, 'q') as Handle
    store.close()
    await expect(bound['cursor_next'].async(cursor)).rejects.toThrow(ScopeClosedError)
  })

  test('keeps its handles open while it runs', async () => {
    const store = bound['store_open']('path') as Handle
    const cursor = bound['cursor_open'](store, 'q') as Handle
    const running = bound['cursor_next'].async(cursor) as Promise<unknown>
    expect(() => store.close()).toThrow(ScopeHeldError)
    await expect(running).resolves.toMatchObject({ value: 0 })
    store.close()
  })
})
