import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import koffi from 'koffi'
import { packageFlags } from '@tenon/config/package-flags'
import { describe, expect, test } from 'vitest'
import {
  ArgumentError,
  ArgumentRangeError,
  driverInfo,
  gcAllocator,
  LoadError,
  ScopeClosedError,
  ScopeHeldError,
  Segment,
  tensor,
} from '@tenon/core'
import { CONSTANTS, globalGate, LAYOUTS, ManagedLifetime, READ_ONLY } from '@tenon/core/internal'
import { fromKoffi, koffiCore, type KoffiType, toKoffi } from '@tenon/core/koffi'
import { runScript } from '@tenon/core/testing'
import { FUNCTIONS } from '../src/generated/functions.ts'
import { STRUCTS } from '../src/generated/structs.ts'
import { fixturePath } from './fixture.ts'

class Probe extends ManagedLifetime {
  protected override get label(): string {
    return 'the probe'
  }

  protected override release(): void {}
}

const globalLifetime = globalGate.owner
const fixture = koffi.load(fixturePath('core_fixture'))
const fill = fixture.func('void fixture_fill(void *bytes, uint64_t count, uint8_t value)')
const same = fixture.func('const void *fixture_pointer(const void *value)')

/** Memory of koffi with the bytes 1, 2, 3 and so on, as a segment of a lifetime. */
function foreign(byteSize: number, scope: Probe): { pointer: bigint; segment: Segment } {
  const pointer = koffi.alloc('uint8_t', byteSize) as bigint
  koffi.encode(
    pointer,
    koffi.array('uint8_t', byteSize),
    Uint8Array.from({ length: byteSize }, (_, i) => i + 1),
  )
  return { pointer, segment: fromKoffi(pointer, byteSize, scope) }
}

describe('toKoffi()', () => {
  test('passes the memory of segments and tensors without a copy', () => {
    const x = tensor('uint8', [4])
    fill(toKoffi(x), 4, 7)
    expect(x.toArray()).toEqual([7, 7, 7, 7])
    const segment = gcAllocator.allocate(8)
    fill(toKoffi(segment.asSlice(2, 4)), 4, 9)
    expect([...new Uint8Array(segment.view().buffer, segment.view().byteOffset, 8)]).toEqual([0, 0, 9, 9, 9, 9, 0, 0])
    expect(same(toKoffi(segment))).toBe(segment.address)
  })

  test('passes exactly the bytes of a tensor, not those of its neighbours', () => {
    const [x, y] = [tensor('float32', [2]), tensor('float32', [2])]
    const bytes = toKoffi(x) as Uint8Array
    expect(bytes.byteLength).toBe(8)
    expect(bytes.buffer).not.toBe((toKoffi(y) as Uint8Array).buffer)
    // The core aligns memory in a larger buffer if it runs through koffi.
    if (driverInfo().kind === 'node-api') expect([bytes.byteOffset, bytes.buffer.byteLength]).toEqual([0, 8])
    bytes.fill(255)
    expect(y.toArray()).toEqual([0, 0])
  })

  test('passes an address for a segment of 0 bytes', () => {
    const { pointer, segment } = foreign(1, new Probe())
    expect(toKoffi(segment.asSlice(1))).toBe(pointer + 1n)
    expect(same(toKoffi(segment.asSlice(1)))).toBe(pointer + 1n)
  })

  test('passes read-only memory as a copy', () => {
    const { block, base, byteSize } = tensor('uint8', [2], [1, 2]).segment
    const bytes = toKoffi(new Segment(block, base, byteSize, READ_ONLY)) as Uint8Array
    fill(bytes, 1, 9)
    expect([bytes[0], block.bytes[base]]).toEqual([9, 1])
  })

  test('throws for closed memory, before the call', () => {
    const scope = new Probe()
    const { segment } = foreign(4, scope)
    const x = tensor('uint8', [4], segment)
    scope.close()
    let called = false
    const call = (bytes: unknown): void => void (called = bytes !== undefined)
    expect(() => call(toKoffi(segment))).toThrow(ScopeClosedError)
    expect(() => call(toKoffi(x))).toThrow(ScopeClosedError)
    expect(() => call(toKoffi(segment.asSlice(4)))).toThrow(ScopeClosedError)
    expect(called).toBe(false)
  })

  test('throws in close actions, because the memory cannot be passed on while its scope is closing', () => {
    const scope = new Probe()
    const { segment } = foreign(4, scope)
    scope.addCloseAction(() => toKoffi(segment))
    expect(() => scope.close()).toThrow('the probe is being closed')
  })

  test('gives bytes that are detached when the memory closes, which koffi passes as a null pointer', () => {
    const scope = new Probe()
    const bytes = toKoffi(foreign(4, scope).segment) as Uint8Array
    expect(same(bytes)).not.toBe(null)
    scope.close()
    expect(bytes.length).toBe(0)
    expect(same(bytes)).toBe(null)
  })

  test('does not keep the memory open, which a hold does', () => {
    const scope = new Probe()
    const { segment } = foreign(4, scope)
    const hold = scope.acquire()
    const bytes = toKoffi(segment) as Uint8Array
    expect(() => scope.close()).toThrow(ScopeHeldError)
    expect(bytes.length).toBe(4)
    hold.release()
    scope.close()
  })

  test.each([
    ['a number', 4, 'memory must be a segment, a stub or a tensor, got 4'],
    ['a buffer', new Uint8Array(1), 'memory must be a segment, a stub or a tensor, got Uint8Array(1)'],
    ['null', null, 'memory must be a segment, a stub or a tensor, got null'],
  ])('refuses %s', (_, value, message) => {
    expect(() => toKoffi(value as never)).toThrow(ArgumentError)
    expect(() => toKoffi(value as never)).toThrow(message)
  })

  test('refuses a tensor with strides, and says how to copy it', () => {
    const x = tensor([
      [1, 2],
      [3, 4],
    ]).transpose()
    expect(() => toKoffi(x)).toThrow('a tensor for koffi must be contiguous')
    const { buffer, byteOffset } = toKoffi(x.contiguous()) as Uint8Array
    expect([...new Float32Array(buffer, byteOffset, 4)]).toEqual([1, 3, 2, 4])
  })
})

describe('fromKoffi()', () => {
  test('gives the memory behind a pointer, without a copy', () => {
    const { pointer, segment } = foreign(4, new Probe())
    expect([segment.address, segment.byteSize, segment.readOnly]).toEqual([pointer, 4, false])
    expect(segment.view().getUint8(3)).toBe(4)
    segment.view().setUint8(0, 9)
    expect(koffi.decode(pointer, 'uint8_t')).toBe(9)
    expect(tensor('uint8', [2], segment.asSlice(1, 2)).toArray()).toEqual([2, 3])
  })

  test('gives memory that ends with its scope, and is not freed', () => {
    const scope = new Probe()
    const { pointer, segment } = foreign(4, scope)
    const view = segment.view()
    scope.close()
    expect(() => segment.view()).toThrow(ScopeClosedError)
    expect(() => view.getUint8(0)).toThrow(TypeError)
    expect(koffi.decode(pointer, 'uint8_t')).toBe(1)
    koffi.free(pointer)
  })

  test('lets all close actions read the memory, those that were added before it among them', () => {
    const scope = new Probe()
    const read: number[] = []
    scope.addCloseAction(() => read.push(segment.view().getUint8(0)))
    const { pointer, segment } = foreign(4, scope)
    scope.addCloseAction(() => read.push(segment.view().getUint8(1)))
    scope.close()
    expect(read).toEqual([2, 1])
    koffi.free(pointer)
  })

  test('checks the scope', () => {
    const pointer = koffi.alloc('uint8_t', 4) as bigint
    const scope = new Probe()
    scope.close()
    expect(() => fromKoffi(pointer, 4, scope)).toThrow(ScopeClosedError)
    for (const other of [undefined, null, {}, 'scope', { gate: {} }]) {
      expect(() => fromKoffi(pointer, 4, other as never)).toThrow('scope must be a scope or another lifetime')
    }
    expect(fromKoffi(pointer, 4, globalLifetime).lifetime).toBe(globalLifetime)
    koffi.free(pointer)
  })

  test('refuses sizes and addresses that no memory has', () => {
    const pointer = koffi.alloc('uint8_t', 4) as bigint
    expect(() => fromKoffi(pointer, -1, globalLifetime)).toThrow(ArgumentRangeError)
    expect(() => fromKoffi(pointer, 1.5, globalLifetime)).toThrow(ArgumentRangeError)
    expect(() => fromKoffi(pointer, '4' as never, globalLifetime)).toThrow(ArgumentError)
    expect(() => fromKoffi(pointer, 2 ** 50, globalLifetime)).toThrow('the memory must end below 2^48')
    expect(() => fromKoffi(16n, 4, globalLifetime)).toThrow('got 0x10, near the null pointer')
    expect(() => fromKoffi(-1n, 4, globalLifetime)).toThrow(ArgumentRangeError)
    expect(fromKoffi(pointer, 0, globalLifetime).byteSize).toBe(0)
    koffi.free(pointer)
  })

  test.each([
    ['null', null, 'Compare the result of the function with null first.'],
    ['0n', 0n, 'Compare the result of the function with null first.'],
    ['a number', 4096, 'Convert it with koffi.address(pointer).'],
    ['a buffer', new Uint8Array(4), 'Convert it with koffi.address(pointer).'],
  ])('refuses %s as a pointer, with a hint', (_, pointer, hint) => {
    expect(() => fromKoffi(pointer as never, 4, globalLifetime)).toThrow(ArgumentError)
    expect(() => fromKoffi(pointer as never, 4, globalLifetime)).toThrow(hint)
  })
})

/** The offset of each member, with those of anonymous members. */
const offsetsOf = (type: KoffiType, start = 0): [name: string, offset: number][] =>
  Object.values(type.members ?? {}).flatMap((member) =>
    /^(union|struct)_\d+$/.test(member.name)
      ? offsetsOf(koffi.type(member.type), start + member.offset)
      : [[member.name, start + member.offset]],
  )

describe('koffiCore()', () => {
  const core = koffiCore(koffi)

  test.each(Object.keys(STRUCTS) as (keyof typeof STRUCTS)[])('%s has the size and the offsets of C', (name) => {
    const type = core.struct(name)
    expect(koffi.sizeof(type)).toBe(LAYOUTS[name].size)
    expect(Object.fromEntries(offsetsOf(koffi.type(type)))).toEqual(LAYOUTS[name].offsets)
    expect(core.struct(name)).toBe(type)
  })

  test('declares every function of the core', () => {
    for (const name of Object.keys(FUNCTIONS.tenon) as (keyof typeof FUNCTIONS.tenon)[]) {
      expect(core.func(name)).toBeTypeOf('function')
    }
  })

  test('calls functions that take numbers, text, pointers and structs', () => {
    expect(core.func('tn_abi_version')()).toBe(CONSTANTS.TN_ABI_VERSION)
    expect(koffi.decode.string(core.func('tn_version')())).toBe('0.0.0')
    const out = new BigUint64Array(1)
    expect(core.func('tn_memory_allocate')(16, 16, out)).toBe(0)
    const segment = fromKoffi(out[0]!, 16, globalLifetime)
    core.func('tn_memory_copy')(out[0]!, toKoffi(tensor('uint8', [2], [5, 6])), 2)
    expect(segment.view().getUint16(0, true)).toBe(0x605)
    core.func('tn_memory_free')(out[0]!)
    expect(core.func('tn_library_open')('no such file', 12, out)).toBeLessThan(0)
    expect(koffi.decode.string(core.func('tn_last_error')())).toContain('no such file')
  })

  test('describes DLPack, so that koffi can read a tensor of another library', () => {
    const x = tensor('float32', [3], [1, 2, 3])
    const record = Buffer.alloc(koffi.sizeof(core.struct('DLTensor')))
    const device = { device_type: CONSTANTS.kDLCPU, device_id: 0 }
    const dtype = { code: 2, bits: 32, lanes: 1 }
    const { address: data } = x.segment
    koffi.encode(record, core.struct('DLTensor'), {
      data,
      device,
      ndim: 1,
      dtype,
      shape: null,
      strides: null,
      byte_offset: 0,
    })
    const read = koffi.decode(record, core.struct('DLTensor')) as { data: bigint; device: object; dtype: object }
    expect(read).toMatchObject({ data, device, dtype, ndim: 1 })
  })

  test('has the same types for the same koffi, which never frees a type', () => {
    expect(koffiCore(koffi)).toBe(core)
    expect(core.path).toContain('tenon')
  })

  test('refuses names that the core does not have, and suggests some', () => {
    expect(() => core.func('tn_versio' as never)).toThrow('Did you mean tn_version?')
    expect(() => core.func('toString' as never)).toThrow(ArgumentError)
    expect(() => core.struct('DLTenso' as never)).toThrow('Did you mean DLTensor?')
    expect(() => core.struct(5 as never)).toThrow('name must be the name of a struct of the core, got 5')
  })

  test('refuses what is not koffi, and versions that were not tested', () => {
    expect(() => koffiCore(undefined as never)).toThrow('koffi must be the module koffi, got undefined')
    expect(() => koffiCore({} as never)).toThrow(ArgumentError)
    expect(() => koffiCore({ version: '2.9.0' } as never)).toThrow(LoadError)
  })
})

test('pointers of another version of koffi are understood, too', () => {
  const other = createRequire(import.meta.url)('koffi-of-application') as typeof koffi
  expect(other.version).not.toBe(koffi.version)
  const fillWithOther = other
    .load(fixturePath('core_fixture'))
    .func('fixture_fill', 'void', ['void *', 'uint64_t', 'uint8_t'])
  const x = tensor('uint8', [2])
  fillWithOther(toKoffi(x), 2, 3)
  expect(x.toArray()).toEqual([3, 3])
  const pointer = other.alloc('uint8_t', 2) as bigint
  fillWithOther(pointer, 2, 5)
  expect(fromKoffi(pointer, 2, globalLifetime).view().getUint8(1)).toBe(5)
  other.free(pointer)
})

describe('useKoffi()', () => {
  const prelude = `
    import koffi from 'koffi'
    import { driverInfo, NativeLibrary } from '@tenon/core'
    import { useKoffi } from '@tenon/core/koffi'
    const kind = () => console.log(driverInfo().kind, driverInfo().reason)
  `
  const run = async (source: string, driver = ''): Promise<string> => {
    const cwd = fileURLToPath(new URL('..', import.meta.url))
    const nodeOptions = [...packageFlags, '--no-warnings']
    const { code, stdout, stderr } = await runScript(prelude + source, {
      cwd,
      env: { TENON_DRIVER: driver },
      nodeOptions,
    })
    expect([code, stderr]).toEqual([0, ''])
    return stdout.trim()
  }

  test('loads the core through this koffi', async () => {
    const library = JSON.stringify(fixturePath('core_fixture'))
    const call = `console.log(NativeLibrary.open(${library}).function('fixture_int32', { result: 'int32', parameters: ['int32'] })(42))`
    expect(await run(`useKoffi(koffi); useKoffi(koffi); kind(); ${call}; useKoffi(koffi)`)).toBe(
      'koffi the program has called useKoffi()\n42',
    )
  })

  test('gives way to TENON_DRIVER', async () => {
    expect(await run('useKoffi(koffi); kind()', 'node-api')).toBe('node-api undefined')
    expect(await run('useKoffi(koffi); kind()', 'koffi')).toBe('koffi TENON_DRIVER is koffi')
  })

  test('throws a LoadError once the core is loaded in another way, and for other versions', async () => {
    const attempt = (value: string): string =>
      `try { useKoffi(${value}) } catch (error) { console.log(error.name, error.sentence) }`
    expect(await run(`kind(); ${attempt('koffi')}`)).toBe(
      'node-api undefined\nLoadError useKoffi() must be called before the native core is loaded',
    )
    expect(await run(`${attempt("{ version: '2.9.0' }")}; kind()`)).toBe(
      'LoadError koffi must be 3.3.4 or later, and older than 4.0.0, got 2.9.0\nnode-api undefined',
    )
    expect(await run(attempt('null'))).toBe('ArgumentError koffi must be the module koffi, got null')
  })
})
