import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import {
  ArgumentError,
  gcAllocator,
  LoadError,
  NativeLibrary,
  ScopeClosedError,
  ScopeHeldError,
  Segment,
  type ValueType,
} from '@tenon/core'
import {
  addressOf,
  Block,
  Callback,
  callsInProgress,
  coreLibrary,
  liveHolds,
  makeStub,
  ManagedLifetime,
} from '@tenon/core/internal'
import { fixturePath } from './fixture.ts'

const directory = mkdtempSync(join(tmpdir(), 'tenon-'))
afterAll(() => rmSync(directory, { recursive: true }))

const fixture = NativeLibrary.open(fixturePath('core_fixture'))

function refusal(path: string): LoadError {
  try {
    NativeLibrary.open(path)
  } catch (error) {
    expect(error).toBeInstanceOf(LoadError)
    expect((error as LoadError).details['tried']).toMatchObject([{ path }])
    return error as LoadError
  }
  throw new Error(`${path} was opened`)
}

describe('a library that is refused', () => {
  test('is missing', () => {
    expect(refusal(join(directory, 'nothing.so')).sentence).toMatch(/^the library .*nothing\.so does not exist$/)
    expect(refusal('libtenon-nobody-has-this.so').sentence).toMatch(
      /could not be loaded: .*libtenon-nobody-has-this\.so/,
    )
  })

  test('is a directory', () => expect(refusal(directory).sentence).toMatch(/must be a file/))

  test('is a text file', () => {
    const path = join(directory, 'text.so')
    writeFileSync(path, 'int main(void) { return 0; }\n')
    expect(refusal(path).sentence).toMatch(/not a shared library, but a text file/)
  })

  test('is cut off', () => {
    const path = join(directory, 'cut.so')
    writeFileSync(path, readFileSync(fixturePath('core_fixture')).subarray(0, 200))
    expect(refusal(path).sentence).toContain(path)
  })

  test('is for another processor', () => {
    const bytes = readFileSync(fixturePath('core_fixture'))
    bytes.writeUInt16LE(process.arch === 'x64' ? 183 : 62, 18) // e_machine: AArch64, x86-64
    const path = join(directory, 'other.so')
    writeFileSync(path, bytes)
    expect(refusal(path).sentence).toMatch(
      process.arch === 'x64' ? /is for arm64, this process runs on x64/ : /is for x64, this process runs on arm64/,
    )
  })

  test('needs a library that is not there', () => {
    const path = join(directory, 'dependent.so')
    copyFileSync(fixturePath('core_fixture_dependent'), path)
    const error = refusal(path)
    expect(error.sentence).toMatch(/needs libcore_fixture_dependency\.so, which cannot be found/)
    expect(error.hint).toMatch(/LD_LIBRARY_PATH/)
    copyFileSync(fixturePath('core_fixture_dependency'), join(directory, 'libcore_fixture_dependency.so'))
    expect(NativeLibrary.open(path).function('fixture_dependent', { result: 'int32' })()).toBe(8)
  })

  test('imports what nobody has', () => {
    expect(refusal(fixturePath('core_fixture_unresolved')).sentence).toMatch(
      /undefined symbol: fixture_nobody_has_this/,
    )
  })

  test('is a pipe, for whose writer nobody waits', () => {
    const path = join(directory, 'pipe.so')
    execFileSync('mkfifo', [path])
    expect(refusal(path).sentence).toMatch(/must be a file/)
  })

  test('is here, but has a bare name, which the loader looks for elsewhere', () => {
    const here = process.cwd()
    copyFileSync(fixturePath('core_fixture'), join(directory, 'libtenon-here.so'))
    process.chdir(directory)
    try {
      expect(refusal('libtenon-here.so').hint).toBe('Write ./libtenon-here.so for the file in this directory.')
      expect(NativeLibrary.open('./libtenon-here.so').has('fixture_sum')).toBe(true)
    } finally {
      process.chdir(here)
    }
  })

  test.each(['', null, undefined, 3, 'a\0b.so'])('has the path %j', (path) => {
    expect(() => NativeLibrary.open(path as never)).toThrow(ArgumentError)
  })
})

describe('symbols', () => {
  test('are found or named as missing', () => {
    expect(fixture.has('fixture_sum')).toBe(true)
    expect(fixture.has('fixture_none')).toBe(false)
    expect(fixture.symbol('fixture_sum')).toBeGreaterThan(0n)
    expect(() => fixture.symbol('fixture_none')).toThrow(/does not export a symbol named "fixture_none"/)
    expect(() => fixture.symbol('fixture_none')).toThrow(LoadError)
    for (const name of ['', 'fixture\0_sum', null]) expect(() => fixture.has(name as never)).toThrow(ArgumentError)
  })

  test('are refused after close, functions too; opening again works', () => {
    const library = NativeLibrary.open(fixturePath('core_fixture'))
    const int32 = library.function('fixture_int32', { result: 'int32', parameters: ['int32'] })
    expect(int32(3)).toBe(3)
    library.close()
    expect(() => int32(3)).toThrow(ScopeClosedError)
    expect(() => library.symbol('fixture_int32')).toThrow(/the library .* is closed already/)
    expect(() => library.has('fixture_int32')).toThrow(ScopeClosedError)
    expect(() => library.function('fixture_int32', {})).toThrow(ScopeClosedError)
    expect(() => library.close()).toThrow(ScopeClosedError)
    expect(NativeLibrary.open(fixturePath('core_fixture')).has('fixture_int32')).toBe(true)
  })
})

describe('functions', () => {
  test.each<[ValueType, number | bigint, number | bigint, 'number' | 'bigint']>([
    ['int8', -128, 127, 'number'],
    ['uint8', 0, 255, 'number'],
    ['int16', -32768, 32767, 'number'],
    ['uint16', 0, 65535, 'number'],
    ['int32', -(2 ** 31), 2 ** 31 - 1, 'number'],
    ['uint32', 0, 2 ** 32 - 1, 'number'],
    ['int64', -(2n ** 63n), 2n ** 63n - 1n, 'bigint'],
    ['uint64', 0n, 2n ** 64n - 1n, 'bigint'],
  ])('%s passes exactly from %s to %s', (type, low, high, kind) => {
    const same = fixture.function(`fixture_${type}`, { result: type, parameters: [type] })
    for (const value of [low, high, 0]) {
      expect(same(value)).toBe(kind === 'bigint' ? BigInt(value) : value)
      expect(same(BigInt(value))).toBe(kind === 'bigint' ? BigInt(value) : value)
    }
    for (const value of [BigInt(low) - 1n, BigInt(high) + 1n, 0.5, NaN, Infinity, -(2 ** 70)]) {
      expect(() => same(value)).toThrow(RangeError)
      expect(() => same(value)).toThrow(/^argument 1 of fixture_u?int\d+ must be a whole number from /)
    }
    for (const value of ['1', null, undefined, true, {}]) expect(() => same(value as never)).toThrow(TypeError)
  })

  test('floats, bools and pointers', () => {
    const float32 = fixture.function('fixture_float32', { result: 'float32', parameters: ['float32'] })
    const float64 = fixture.function('fixture_float64', { result: 'float64', parameters: ['float64'] })
    const not = fixture.function('fixture_not', { result: 'bool', parameters: ['bool'] })
    const pointer = fixture.function('fixture_pointer', { result: 'pointer', parameters: ['pointer'] })
    expect(float32(0.1)).toBe(Math.fround(0.1))
    expect([float64(0.1), float64(NaN), float64(-Infinity)]).toEqual([0.1, NaN, -Infinity])
    expect([not(true), not(false)]).toEqual([false, true])
    const segment = gcAllocator.allocate(16)
    expect(pointer(segment.asSlice(8))).toMatchObject({ address: segment.address + 8n, byteSize: 0 })
    expect(pointer(null).address).toBe(0n)
    expect(() => float64('1' as never)).toThrow(ArgumentError)
    expect(() => not(1 as never)).toThrow(ArgumentError)
    for (const value of [0, 0n, 4096n, new ArrayBuffer(8), undefined, {}]) {
      expect(() => pointer(value as never)).toThrow(/must be a segment, a typed array, a tensor or null/)
    }
  })

  test('several parameters of different kinds', () => {
    const sum = fixture.function('fixture_sum', {
      result: 'float64',
      parameters: ['float64', 'int32', 'pointer', 'pointer', 'uint8'],
    })
    const [c, d] = [gcAllocator.allocate(4), gcAllocator.allocate(8)]
    c.view().setFloat32(0, 0.25, true)
    d.view().setBigInt64(0, -3n, true)
    expect(sum(1.5, 10, c, d, 200)).toBe(208.75)
    for (const values of [[], [1, 2, c, d], [1, 2, c, d, 3, 4]]) {
      expect(() => sum(...(values as Parameters<typeof sum>))).toThrow(
        `fixture_sum takes 5 arguments, got ${values.length}`,
      )
    }
    expect(callsInProgress.depth).toBe(0)
  })

  test('write into segments', () => {
    const fill = fixture.function('fixture_fill', { parameters: ['pointer', 'uint64', 'uint8'] })
    const segment = gcAllocator.allocate(8)
    expect(fill(segment.asSlice(2, 4), 4, 7)).toBeUndefined()
    expect([...Buffer.from(segment.view().buffer, segment.view().byteOffset, 8)]).toEqual([0, 0, 7, 7, 7, 7, 0, 0])
  })

  test('an unknown type is refused when it is declared', () => {
    expect(() => fixture.function('fixture_sum', { result: 'int' as never })).toThrow(
      /a type must be one of bool, int8/,
    )
    expect(() => fixture.function('fixture_sum', { parameters: ['char*' as never] })).toThrow(ArgumentError)
    expect(() => fixture.function('fixture_sum', { parameters: [['int32'] as never] })).toThrow(ArgumentError)
  })

  test('what is no signature is refused', () => {
    for (const signature of [undefined, null, 'void', 1]) {
      expect(() => fixture.function('fixture_sum', signature as never)).toThrow(/signature must be an object/)
    }
    for (const parameters of ['pointer', {}, 5]) {
      expect(() => fixture.function('fixture_sum', { parameters } as never)).toThrow(
        /parameters must be an array of at most 255 types/,
      )
    }
    expect(() => fixture.function('fixture_sum', { parameters: new Array(256).fill('int32') })).toThrow(
      /a function must have at most 255 parameters, got 256/,
    )
    expect(() => fixture.function('fixture_sum', { parameters: new Array(2) })).toThrow(ArgumentError)
  })

  test('a library is not closed inside a callback of its own call', () => {
    const library = NativeLibrary.open(fixturePath('core_fixture'))
    const call = library.function('fixture_call', { result: 'int32', parameters: ['pointer', 'pointer', 'pointer'] })
    const segment = gcAllocator.allocate(8)
    let error: unknown
    const callback = new Callback(() => {
      try {
        library.close()
      } catch (caught) {
        error = caught
      }
    })
    expect(call(overAddress(callback.address), segment, null)).toBe(0)
    expect(error).toBeInstanceOf(ScopeHeldError)
    // The function itself, and the null that stands for memory of the library.
    expect((error as ScopeHeldError).details).toEqual({ holds: 0, calls: 2 })
    expect(library.gate.calls).toBe(0)
    callback.release()
    library.close()
  })

  test.each([false, true])('a library is not closed inside its stubs, and can be closed then: throws %s', (throws) => {
    const library = NativeLibrary.open(fixturePath('core_fixture'))
    const call = library.function('fixture_call_function', { result: 'int32', parameters: ['uint64', 'int32'] })
    const errors: ScopeHeldError[] = []
    const run = (value: unknown): number => {
      try {
        library.close()
      } catch (error) {
        errors.push(error as ScopeHeldError)
      }
      if (value !== 0) return call(stub.address, (value as number) - 1) as number
      if (throws) throw new Error('mine')
      return 1
    }
    const stub = makeStub({ result: 'int32', parameters: ['int32'] }, run, {}, 'the result')
    if (throws) expect(() => call(stub.address, 2)).toThrow('mine')
    else expect(call(stub.address, 2)).toBe(1)
    expect(errors.map(({ details }) => details)).toEqual([1, 2, 3].map((calls) => ({ holds: 0, calls })))
    stub.close()
    library.close()
  })

  test('memory that was detached through its buffer is refused', () => {
    const pointer = fixture.function('fixture_pointer', { result: 'pointer', parameters: ['pointer'] })
    const segment = gcAllocator.allocate(8)
    ;(segment.view().buffer as ArrayBuffer).transfer()
    expect(() => pointer(segment)).toThrow(ScopeClosedError)
  })
})

/** A segment that stands for an address of native code. */
function overAddress(address: number): Segment {
  const { gate, view, bytes } = gcAllocator.allocate(0).block
  return new Segment(new Block(gate, view, bytes, address), 0, 0, 0)
}

/** A lifetime with one segment, which says when it frees it. */
class Owner extends ManagedLifetime {
  isReleased = false
  readonly segment: Segment = this.#allocate()

  #allocate(): Segment {
    const buffer = new ArrayBuffer(64)
    return new Segment(new Block(this.gate, new DataView(buffer), Buffer.from(buffer), addressOf(buffer)), 0, 64, 0)
  }

  protected override get label(): string {
    return 'the owner'
  }

  protected override release(): void {
    this.isReleased = true
  }
}

describe('functions on another thread', () => {
  const libc = NativeLibrary.open('libc.so.6')
  const poll = libc.function('poll', { result: 'int32', parameters: ['pointer', 'uint64', 'int32'] })

  test('give their result, wide ones as bigints', async () => {
    const sum = fixture.function('fixture_uint64', { result: 'uint64', parameters: ['uint64'] })
    expect(await sum.async(3)).toBe(3n)
    const fill = fixture.function('fixture_fill', { parameters: ['pointer', 'uint64', 'uint8'] })
    const segment = gcAllocator.allocate(8)
    expect(await fill.async(segment, 8, 7)).toBeUndefined()
    expect(segment.view().getUint8(7)).toBe(7)
  })

  test('have the stack of a thread, as calls on this one have', async () => {
    const deep = fixture.function('fixture_deep', { result: 'uint32', parameters: ['uint32'] })
    expect(deep(80)).toBe(80)
    expect(await Promise.all([deep.async(80), deep.async(80)])).toEqual([80, 80])
  })

  test('may be many', async () => {
    const sum = fixture.function('fixture_int32', { result: 'int32', parameters: ['int32'] })
    expect(await Promise.all(Array.from({ length: 1000 }, (_, i) => sum.async(i)))).toEqual(
      Array.from({ length: 1000 }, (_, i) => i),
    )
    const holds = liveHolds.count
    const settled = await Promise.allSettled(Array.from({ length: 6000 }, () => sum.async(1)))
    expect(settled.every((call) => call.status === 'fulfilled' && call.value === 1)).toBe(true)
    expect(liveHolds.count).toBe(holds)
  })

  test('refuse bad arguments', async () => {
    await expect(poll.async(1 as never, 1, 0)).rejects.toThrow(ArgumentError)
    await expect(poll.async(...([null, 1] as unknown as [null, 1, 1]))).rejects.toThrow(/poll takes 3 arguments, got 2/)
  })

  test('hold their memory and their library until they have returned', async () => {
    const owner = new Owner()
    const library = NativeLibrary.open('libc.so.6')
    const holds = liveHolds.count
    const call = library
      .function('poll', { result: 'int32', parameters: ['pointer', 'uint64', 'int32'] })
      .async(owner.segment, 1, 50)
    expect(() => owner.close()).toThrow(/used by 1 hold\n/)
    expect(() => library.close()).toThrow(ScopeHeldError)
    await call
    expect(liveHolds.count).toBe(holds)
    owner.close()
    library.close()
    await expect(poll.async(owner.segment, 1, 0)).rejects.toThrow(ScopeClosedError)
    expect(liveHolds.count).toBe(holds)
  })

  test('are refused from the moment the memory begins to close, synchronous ones too', async () => {
    const [owner, holds] = [new Owner(), liveHolds.count]
    const pending: Promise<unknown>[] = []
    owner.addCloseAction(() => {
      expect(() => poll(owner.segment, 1, 0)).toThrow(/the owner is being closed/)
      pending.push(poll.async(gcAllocator.allocate(8), 1, 0), poll.async(owner.segment, 1, 50))
    })
    owner.close()
    expect([owner.isReleased, owner.gate.holds, liveHolds.count]).toEqual([true, 0, holds + 2])
    const [reason] = await Promise.all([pending[1]!.catch(String), pending[0]])
    expect(reason).toMatch(/the owner is being closed/)
  })
})

test('a library for another system is recognised by its format', () => {
  const path = join(directory, 'foreign')
  const image = Buffer.alloc(64)
  const [format, isMac] = process.platform === 'darwin' ? (['Linux', true] as const) : (['macOS', false] as const)
  // The header of an ELF file for x64, or of a Mach-O library for arm64 without load commands.
  if (isMac) image.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 62, 0, 1])
  else image.set([0xcf, 0xfa, 0xed, 0xfe, 0x0c, 0, 0, 1, 0, 0, 0, 0, 6])
  writeFileSync(path, image)
  expect(refusal(path).sentence).toBe(`the library ${path} is for ${format}, this process runs on ${process.platform}`)
})

test('paths with characters beyond ASCII', () => {
  const folder = join(directory, 'größe 数 🦀')
  mkdirSync(folder)
  const path = join(folder, 'lib.so')
  copyFileSync(fixturePath('core_fixture'), path)
  expect(NativeLibrary.open(path).has('fixture_sum')).toBe(true)
})

test('a library is never unmapped', () => {
  const path = join(directory, 'kept.so')
  copyFileSync(fixturePath('core_fixture'), path)
  NativeLibrary.open(path).close()
  expect(readFileSync('/proc/self/maps', 'utf8')).toContain(path)
})

if (process.platform === 'linux')
  test('the core is built so that the loader keeps it', () => {
    const header = execFileSync('readelf', ['-d', coreLibrary().path], { encoding: 'utf8' })
    expect(header).toMatch(/FLAGS_1.*NODELETE/)
    expect(dirname(coreLibrary().path)).toContain('build')
  })
