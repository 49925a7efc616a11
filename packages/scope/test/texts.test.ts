import { ArgumentError, NativeError } from '@tenon/core'
import { MemorySegment, NativeScope, toCString } from '@tenon/scope'
import { Linker, SymbolLookup, upcallStub } from '@tenon/scope/linker'
import { afterAll, describe, expect, expectTypeOf, test } from 'vitest'

const libc = SymbolLookup.ofProcess()
const memory = NativeScope.ofConfined()
afterAll(() => memory.close())

const strlen = Linker.downcall(libc.get('strlen'), { result: 'uint64', parameters: ['text'] })
const strstr = Linker.downcall(libc.get('strstr'), { result: 'text', parameters: ['text', 'text'] })
const getenv = Linker.downcall(libc.get('getenv'), { result: 'text', parameters: ['text'] })
const mmap = Linker.downcall(libc.get('mmap'), {
  result: 'pointer',
  parameters: ['pointer', 'uint64', 'int32', 'int32', 'int32', 'int64'],
})
const mprotect = Linker.downcall(libc.get('mprotect'), { result: 'int32', parameters: ['pointer', 'uint64', 'int32'] })
/** Returns the text at a pointer. */
const textAt = Linker.downcall(libc.get('strchr'), { result: 'text', parameters: ['pointer', 'int32'] })

const PAGE = 4096
const MEBIBYTE = 2 ** 20

/** Bytes that end at a page that cannot be read. */
function atEndOfMemory(byteSize: number): MemorySegment {
  const room = Math.ceil(byteSize / PAGE) * PAGE
  const { address } = mmap(null, room + PAGE, 3, 0x22, -1, 0)
  expect(mprotect(MemorySegment.ofAddress(address + BigInt(room)), PAGE, 0)).toBe(0)
  return MemorySegment.ofAddress(address + BigInt(room - byteSize)).reinterpret(byteSize)
}

describe('a parameter of the type text', () => {
  test('takes a string, which C reads as UTF-8 with a terminator', () => {
    for (const text of [
      '',
      'a',
      'grün',
      '€',
      '😀',
      'x'.repeat(16),
      'x'.repeat(17),
      'ü'.repeat(20_000),
      '😀'.repeat(50_000),
    ])
      expect(strlen(text), text.slice(0, 20)).toBe(BigInt(Buffer.byteLength(text)))
  })

  test('takes memory and null as a pointer does', () => {
    expect(strlen(toCString('memory', memory))).toBe(6n)
    const isNull = Linker.downcall(
      upcallStub(
        (pointer: MemorySegment) => pointer.address === 0n,
        { result: 'bool', parameters: ['pointer'] },
        memory,
      ),
      { result: 'bool', parameters: ['text'] },
    )
    expect([isNull(null), isNull('')]).toEqual([true, false])
  })

  test('refuses U+0000 at any place, and other values', () => {
    for (const text of ['\0', 'a\0', '\0a', `${'x'.repeat(40)}\0`, `ü\0`, `${'x'.repeat(70_000)}\0`])
      expect(() => strlen(text)).toThrow('argument 1 of strlen must not contain U+0000')
    for (const value of [5, 5n, true, undefined, {}, [], Symbol('s'), () => {}])
      expect(() => strlen(value as never)).toThrow(ArgumentError)
    // eslint-disable-next-line no-new-wrappers
    expect(() => strlen(Object('text') as never)).toThrow(
      'must be a string, a segment, a typed array, a tensor or null',
    )
  })

  test('replaces lone surrogates by U+FFFD', () => {
    for (const text of ['\ud800', 'a\udc00b', '\udc00\ud800', `${'x'.repeat(30)}\ud83d`, `\ud83d${'x'.repeat(30)}`])
      expect(strstr(text, '')).toBe(text.toWellFormed())
  })

  test('keeps its text while a callback passes others', () => {
    const seen: string[] = []
    let depth = 0
    const read = (pointer: MemorySegment): string | null => strstr(pointer, '')
    const stub = upcallStub(
      (outer: MemorySegment, large: MemorySegment) => {
        const before = [read(outer), read(large)]
        if (depth++ < 20) call(`inner ${depth} ${'ä'.repeat(depth * 10)}`, `${'y'.repeat(3000 * depth)}`)
        for (let i = 0; i < 10; i++) expect(strlen(`filler ${'z'.repeat(i * 100)}`)).toBe(BigInt(7 + i * 100))
        expect([read(outer), read(large)]).toEqual(before)
        seen.push(before[0]!)
      },
      { parameters: ['pointer', 'pointer'] },
      memory,
    )
    const call = Linker.downcall(stub, { parameters: ['text', 'text'] })
    call('outermost', 'x'.repeat(100_000))
    expect(seen).toHaveLength(21)
    expect(seen.at(-1)).toBe('outermost')
  })

  test('works among other arguments, in any order', () => {
    const seen: unknown[] = []
    const types = ['int32', 'text', 'float64', 'pointer', 'text', 'int64', 'text'] as const
    for (let first = 0; first < types.length; first++) {
      for (let last = first + 1; last <= types.length; last++) {
        const parameters = types.slice(first, last)
        const stub = upcallStub((...values) => void seen.push(...values), { parameters }, memory)
        const values = parameters.map((type, i) =>
          type === 'text' ? `text ${i}` : type === 'pointer' ? null : type === 'int64' ? BigInt(i) : i,
        )
        Linker.downcall(stub, { parameters })(...(values as never[]))
        expect(seen.splice(0).map((value) => (value instanceof MemorySegment ? null : value))).toEqual(values)
      }
    }
  })

  test('can be one of any number', async () => {
    for (const count of [5, 6, 7, 20]) {
      const seen: unknown[] = []
      const parameters = new Array<'text'>(count).fill('text')
      const stub = upcallStub((...values) => void seen.push(...values), { parameters }, memory)
      const values = parameters.map((_, i) => (i === 1 ? null : 'ü'.repeat(i * 40)))
      const call = Linker.downcall(stub, { parameters })
      call(...values)
      await call.async(...values)
      expect(seen).toEqual([...values, ...values])
    }
  })

  test('keeps a copy until an asynchronous call has returned', async () => {
    const texts = Array.from({ length: 200 }, (_, i) => 'ü'.repeat(i * 7))
    const lengths = texts.map((text) => strlen.async(text))
    for (let i = 0; i < 1000; i++) strlen('something else')
    expect(await Promise.all(lengths)).toEqual(texts.map((text) => BigInt(Buffer.byteLength(text))))
    expect(await strstr.async('haystack with needle', 'needle')).toBe('needle')
    await expect(Promise.resolve().then(() => strlen.async('a\0'))).rejects.toThrow('U+0000')
  })

  test('is a variadic argument', () => {
    const buffer = memory.allocate(64)
    const snprintf = Linker.downcall(libc.get('snprintf'), {
      result: 'int32',
      parameters: ['pointer', 'uint64', 'text', 'text', 'int32'],
      fixedParameters: 3,
    })
    expect(snprintf(buffer, 64, '%s=%d', 'größe', 7)).toBe(9)
    expect(buffer.getString(0)).toBe('größe=7')
  })
})

describe('a result of the type text', () => {
  test('is a copy of the string, or null', () => {
    const strerror = Linker.downcall(libc.get('strerror'), { result: 'text', parameters: ['int32'] })
    expect(strerror(2)).toBe('No such file or directory')
    expect(getenv('NO_SUCH_VARIABLE')).toBeNull()
    expect(strstr('haystack', 'y')).toBe('ystack')
    expect(strstr('x'.repeat(100_000), 'x')).toBe('x'.repeat(100_000))
    expect(strstr('abc', 'd')).toBeNull()
  })

  test('is returned together with errno', () => {
    const call = Linker.downcall(
      libc.get('strstr'),
      { result: 'text', parameters: ['text', 'text'] },
      { captureErrno: true },
    )
    expect(call('ab', 'b')).toEqual({ value: 'b', errno: 0 })
  })

  test('reads up to the terminator and no byte more', () => {
    for (let length = 0; length < 70; length++) {
      const segment = atEndOfMemory(length + 1)
      segment.setString(0, 'z'.repeat(length))
      expect(textAt(segment, 'z'.charCodeAt(0)) ?? '').toBe('z'.repeat(length))
    }
  })

  test('throws NativeError without a terminator in 1 MiB, and does not read further', () => {
    const segment = atEndOfMemory(MEBIBYTE).fill(0x61)
    expect(() => textAt(segment, 0x61)).toThrow(NativeError)
    expect(() => textAt(segment, 0x61)).toThrow('must have a terminator within 1,048,576 bytes')
    segment.setUint8(MEBIBYTE - 1, 0)
    expect(textAt(segment, 0x61)).toHaveLength(MEBIBYTE - 1)
  })

  test('replaces bytes that are not UTF-8 by U+FFFD, as reading a string does', () => {
    for (const bytes of [[0xff], [0x61, 0xc3], [0xed, 0xa0, 0x80], [0xf0, 0x9f, 0x98], [0xc0, 0x80, 0x41]]) {
      const segment = memory.allocate(bytes.length + 1)
      bytes.forEach((byte, i) => segment.setUint8(i, byte))
      expect(textAt(segment, bytes[0]!)).toBe(segment.getString(0))
    }
  })

  test('throws for an address that no memory has', () => {
    const identity = Linker.downcall(libc.get('llabs'), { result: 'text', parameters: ['int64'] })
    expect(() => identity(2n ** 62n)).toThrow(NativeError)
  })
})

describe('a callback', () => {
  test('receives texts as strings, and null', () => {
    const seen: unknown[] = []
    const stub = upcallStub(
      (...values: unknown[]) => void seen.push(...values),
      { parameters: ['text', 'int32', 'text'] },
      memory,
    )
    const call = Linker.downcall(stub, { parameters: ['text', 'int32', 'text'] })
    call('grün', 5, null)
    call('', 6, '😀'.repeat(1000))
    expect(seen).toEqual(['grün', 5, null, '', 6, '😀'.repeat(1000)])
  })

  test('throws the error of a text without an end out of the native call', () => {
    const segment = atEndOfMemory(MEBIBYTE).fill(0x61)
    const stub = upcallStub(() => {}, { parameters: ['text'] }, memory)
    expect(() => Linker.downcall(stub, { parameters: ['pointer'] })(segment)).toThrow(NativeError)
  })

  test('cannot return text, because nothing would keep its memory', () => {
    expect(() => upcallStub(() => 'text', { result: 'text' }, memory)).toThrow(
      'the result of a callback must not be text',
    )
  })
})

test('the compiler knows the types of texts', () => {
  expectTypeOf<Parameters<typeof getenv>[0]>().toExtend<string | MemorySegment | null | object>()
  expectTypeOf<string>().toExtend<Parameters<typeof getenv>[0]>()
  expectTypeOf<MemorySegment>().toExtend<Parameters<typeof getenv>[0]>()
  expectTypeOf<null>().toExtend<Parameters<typeof getenv>[0]>()
  expectTypeOf<number>().not.toExtend<Parameters<typeof getenv>[0]>()
  expectTypeOf<ReturnType<typeof getenv>>().toEqualTypeOf<string | null>()
  expectTypeOf<ReturnType<typeof getenv.async>>().toEqualTypeOf<Promise<string | null>>()
})
