import {
  closeSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test, vi } from 'vitest'
import {
  ArgumentError,
  ArgumentRangeError,
  BoundsError,
  ReadOnlyError,
  ScopeClosedError,
  ScopeHeldError,
  tensor,
} from '@tenon/core'
import { coreLibrary } from '@tenon/core/internal'
import { createFrozenPool, createPool, freezePool, openFilePool, poolUsage, shareReadOnly } from '../src/index.ts'
import { importPool, type PoolHandle } from '../src/memory/import-pool.ts'
import { closeDescriptor, createSharedMemory, duplicateDescriptor, sealDescriptor } from '../src/memory/descriptor.ts'
import { mappingsOf } from './memory/memory-status.ts'
import { expectFailure, expectNoLeaks, floats } from './support.ts'

const directory = mkdtempSync(join(tmpdir(), 'tenon-pools-'))
afterAll(() => rmSync(directory, { recursive: true }))

const file = (name: string, byteSize: number): string => {
  const path = join(directory, name)
  writeFileSync(path, Buffer.alloc(byteSize, 7))
  return path
}

describe('createPool', () => {
  test.runIf(process.platform === 'linux')('unmaps its memory if the runtime refuses a buffer over it', async () => {
    // The first pool finds out which buffers the runtime supports.
    createPool(64).close()
    const mappings = mappingsOf('memfd:')
    await expectNoLeaks(() => {
      const refuse = vi.spyOn(coreLibrary().driver, 'bufferOver').mockImplementation(() => {
        throw new Error('external buffers are not supported')
      })
      expect(() => createPool(4096)).toThrow('no buffer over native memory can be made')
      refuse.mockRestore()
    })
    expect(mappingsOf('memfd:')).toBe(mappings)
  })

  test('gives zeroed memory that can be read and written', async () => {
    await expectNoLeaks(() => {
      using pool = createPool(4096, { label: 'test' })
      expect([pool.kind, pool.rights, pool.byteSize]).toEqual(['shared', 'writable', 4096])
      expect(pool.read(0).every((byte) => byte === 0)).toBe(true)
      pool.write(8, new Float32Array([1.5, -2]))
      expect(floats(pool.read(8, 8))).toEqual([1.5, -2])
      expect(pool.slice(8, 4).read().length).toBe(4)
      pool.slice(8, 4).write(Uint8Array.of(1, 2, 3, 4))
      expect([...pool.read(8, 4)]).toEqual([1, 2, 3, 4])
    })
  })

  test.each([0, -1, 0.5, Number.NaN, 2 ** 32, 2 ** 53, Infinity])('refuses a size of %s', (byteSize) => {
    expect(() => createPool(byteSize)).toThrow(ArgumentRangeError)
  })

  test.each(['64', null, undefined, {}])('refuses %s as a size', (byteSize) => {
    expect(() => createPool(byteSize as never)).toThrow(ArgumentError)
  })

  test('sizes up to 2^32 - 1 are accepted, because pages are allocated on use', async () => {
    await expectNoLeaks(() => {
      using pool = createPool(0xffff_ffff)
      pool.write(0xffff_fffe, Uint8Array.of(9))
      expect([...pool.read(0xffff_fffd)]).toEqual([0, 9])
    })
  })

  test('an emulated hardware buffer keeps its kind', () => {
    using pool = createPool(64, { kind: 'device-blob' })
    expect(pool.kind).toBe('device-blob')
  })
})

describe('bounds and lifetime', () => {
  test('slices lie inside the pool', () => {
    using pool = createPool(100)
    expect(() => pool.slice(101)).toThrow(BoundsError)
    expect(() => pool.slice(50, 51)).toThrow(BoundsError)
    expect(() => pool.slice(50, 40, { padding: 11 })).toThrow(BoundsError)
    expect(() => pool.slice(-1)).toThrow(ArgumentRangeError)
    expect(() => pool.write(99, Uint8Array.of(1, 2))).toThrow(BoundsError)
    expect(() => pool.slice(0, 2).write(new Uint8Array(3))).toThrow(BoundsError)
    expect(() => pool.write(0, [1, 2] as never)).toThrow(ArgumentError)
  })

  test('a closed pool cannot be read or written', () => {
    const pool = createPool(64)
    const [view, segment, slice] = [pool.view(), pool.segment, pool.slice(0)]
    pool.close()
    expect(() => view.getUint8(0)).toThrow(TypeError)
    expect(() => segment.view()).toThrow(ScopeClosedError)
    expect(() => pool.read(0)).toThrow(ScopeClosedError)
    expect(() => slice.read()).toThrow(ScopeClosedError)
    expect(() => pool.write(0, Uint8Array.of(1))).toThrow(ScopeClosedError)
    expect(() => pool.close()).toThrow(ScopeClosedError)
    pool[Symbol.dispose]()
  })

  test('close() throws ScopeHeldError while the pool is held', () => {
    const pool = createPool(64)
    const hold = pool.acquire()
    expect(() => pool.close()).toThrow(ScopeHeldError)
    expect(pool.read(0).length).toBe(64)
    hold.release()
    pool.close()
  })

  test('a pool is memory for tensors of every package', () => {
    using pool = createPool(64)
    const t = tensor('float32', [2], pool.segment.asSlice(16, 8))
    ;(t.view() as Float32Array).set([3, 4])
    expect(floats(pool.read(16, 8))).toEqual([3, 4])
  })

  test('1000 pools leave nothing behind, with and without raw views', async () => {
    await expectNoLeaks(() => {
      for (let i = 0; i < 1000; i++) {
        using pool = createPool(8192)
        if (i % 2 === 0) pool.view().setUint8(0, 1)
      }
    })
  })
})

describe('rights', () => {
  test('a frozen pool cannot be changed', async () => {
    await expectNoLeaks(() => {
      using pool = createFrozenPool(new Float32Array([1, 2]))
      expect(pool.rights).toBe('frozen')
      expect(() => pool.write(0, Uint8Array.of(1))).toThrow(ReadOnlyError)
      pool.view().setFloat32(0, 9, true)
      expect(floats(pool.read(0))).toEqual([1, 2])
      const again = importPool({
        kind: 'shared',
        attachment: duplicateDescriptor(pool.descriptor!),
        byteSize: 8,
        keep: true,
      })
      expect(again.rights).toBe('frozen')
      again.close()
    })
  })

  test('freezing closes the writable pool', () => {
    const pool = createPool(16)
    pool.write(0, Uint8Array.of(5))
    using frozen = freezePool(pool)
    expect(pool.isAlive).toBe(false)
    expect(frozen.read(0)[0]).toBe(5)
  })

  test('a pool that another process has mapped cannot be frozen', async () => {
    await expectNoLeaks(async () => {
      const pool = createPool(16)
      const other = importPool({
        kind: 'shared',
        attachment: duplicateDescriptor(pool.descriptor!),
        byteSize: 16,
        keep: true,
      })
      await expectFailure(() => freezePool(pool), 'GENERAL_FAILURE')
      other.close()
      pool[Symbol.dispose]()
    })
  })

  test("readers see the owner's writes, and cannot write", async () => {
    await expectNoLeaks(() => {
      using pool = createPool(4096)
      using reader = shareReadOnly(pool)
      expect(reader.rights).toBe('read-only')
      pool.write(0, Uint8Array.of(6))
      expect(reader.read(0)[0]).toBe(6)
      expect(() => reader.write(0, Uint8Array.of(1))).toThrow(ReadOnlyError)
      const imported = importPool({
        kind: 'shared',
        attachment: duplicateDescriptor(reader.descriptor!),
        byteSize: 4096,
        keep: true,
      })
      expect(imported.rights).toBe('read-only')
      imported.close()
    })
  })
})

describe('file pools', () => {
  test('map a file, or a part from a page on', async () => {
    await expectNoLeaks(() => {
      const path = file('plain', 3 * 4096)
      using pool = openFilePool(path)
      expect([pool.kind, pool.rights, pool.byteSize]).toEqual(['file', 'read-only', 3 * 4096])
      using part = openFilePool(path, { byteOffset: 4096, byteSize: 100 })
      expect([part.byteSize, part.read(99)[0]]).toEqual([100, 7])
    })
  })

  test('writes to a writable pool reach the file', () => {
    const path = file('written', 4096)
    using pool = openFilePool(path, { access: 'read-write' })
    pool.write(10, Uint8Array.of(42))
    pool.sync()
    expect(readFileSync(path)[10]).toBe(42)
  })

  test('a read-only pool never changes the file', () => {
    const path = file('kept', 4096)
    using pool = openFilePool(path)
    pool.view().setUint8(0, 1)
    expect(readFileSync(path)[0]).toBe(7)
  })

  test('close() names the first byte that was written to a writable pool and did not reach the file', () => {
    const path = file('lost', 4 * 4096)
    const pool = openFilePool(path, { access: 'read-write', byteOffset: 4096, byteSize: 4096 })
    truncateSync(path, 4096)
    pool.write(10, Uint8Array.of(42))
    expect(pool.isMissing(0, 11)).toBe(true)
    expect(() => pool.close()).toThrow(/^writes to the file .*lost from byte 4106 on were lost/)
    expect(pool.isAlive).toBe(false)
  })

  test('a file that shrinks reads as zeros, and the process continues', () => {
    const path = file('shrinks', 4 * 4096)
    using pool = openFilePool(path)
    truncateSync(path, 4096)
    expect(pool.read(0, 1)[0]).toBe(7)
    expect([pool.isMissing(0, 4096), pool.isMissing(0, 4097)]).toEqual([false, true])
    expect(pool.read(3 * 4096, 1)[0]).toBe(0)
    expect(pool.isMissing(3 * 4096, 1)).toBe(true)
  })

  test('bytes of a file that grows again are missing where they were read before, and else those of the file', () => {
    const path = file('grows', 4 * 4096)
    using pool = openFilePool(path, { byteOffset: 4096 })
    truncateSync(path, 4096)
    expect(pool.read(4096, 1)[0]).toBe(0)
    writeFileSync(path, Buffer.alloc(4 * 4096, 9))
    expect([0, 4096, 8192].map((at) => pool.read(at, 1)[0])).toEqual([9, 0, 9])
    expect([0, 4096, 8192].map((at) => pool.isMissing(at, 4096))).toEqual([false, true, false])
    expect(pool.isMissing(0, 4097)).toBe(true)
  })

  test('an offset between pages is refused', async () => {
    await expectNoLeaks(() =>
      expectFailure(() => openFilePool(file('odd', 8192), { byteOffset: 100 }), 'GENERAL_FAILURE', 'P7'),
    )
  })

  test('a size past the end is refused', async () => {
    await expectNoLeaks(() =>
      expectFailure(() => openFilePool(file('short', 100), { byteSize: 101 }), 'GENERAL_FAILURE', 'P15'),
    )
  })

  test('an empty or missing file is refused', async () => {
    expect(() => openFilePool(file('empty', 0))).toThrow(ArgumentRangeError)
    expect((await expectFailure(() => openFilePool(join(directory, 'missing')), 'GENERAL_FAILURE')).message).toContain(
      'no such file',
    )
  })
})

describe('handles from others', () => {
  const shared = (byteSize: number): number => createSharedMemory(byteSize, 'test')
  /** The handle's descriptor stays the test's. */
  const refuse = async (handle: Omit<PoolHandle, 'keep'>, status: string, rule: string): Promise<void> => {
    await expectFailure(() => importPool({ ...handle, keep: false }), status, rule)
    closeDescriptor(handle.attachment as number)
  }

  test.each([
    ['no bytes', () => refuse({ kind: 'shared', attachment: shared(4096), byteSize: 0 }, 'INVALID_ARGUMENT', 'P5')],
    [
      'more than 2^32 - 1 bytes',
      () => refuse({ kind: 'shared', attachment: shared(4096), byteSize: 2 ** 32 }, 'INVALID_ARGUMENT', 'P9'),
    ],
    [
      '2^63 bytes',
      () => refuse({ kind: 'shared', attachment: shared(4096), byteSize: 2 ** 63 }, 'INVALID_ARGUMENT', 'P9'),
    ],
    [
      'a byte more than there is',
      () => refuse({ kind: 'shared', attachment: shared(4096), byteSize: 4097 }, 'GENERAL_FAILURE', 'P15'),
    ],
    [
      'a page more than there is',
      () => refuse({ kind: 'shared', attachment: shared(4096), byteSize: 8192 }, 'GENERAL_FAILURE', 'P15'),
    ],
    [
      'a device',
      () =>
        refuse({ kind: 'shared', attachment: openSync('/dev/zero', 'r+'), byteSize: 4096 }, 'GENERAL_FAILURE', 'P15'),
    ],
    [
      'a directory',
      () => refuse({ kind: 'file', attachment: openSync(directory, 'r'), byteSize: 4096 }, 'GENERAL_FAILURE', 'P15'),
    ],
    [
      'a file as shared memory',
      () =>
        refuse(
          { kind: 'shared', attachment: openSync(file('as-memory', 4096), 'r+'), byteSize: 4096 },
          'GENERAL_FAILURE',
          'P15',
        ),
    ],
    [
      'a file that can not be read',
      () =>
        refuse(
          { kind: 'file', attachment: openSync(file('write-only', 4096), 'a'), byteSize: 4096 },
          'GENERAL_FAILURE',
          'P15',
        ),
    ],
    [
      'a file of procfs',
      () =>
        refuse(
          { kind: 'file', attachment: openSync('/proc/self/maps', 'r'), byteSize: 4096 },
          'GENERAL_FAILURE',
          'P15',
        ),
    ],
    [
      'a file to write that was opened for reading',
      () =>
        refuse(
          { kind: 'file', attachment: openSync(file('read', 4096), 'r'), byteSize: 4096, isWritable: true },
          'GENERAL_FAILURE',
          'P17',
        ),
    ],
  ])('%s is refused', async (_, attempt) => {
    await expectNoLeaks(attempt)
  })

  test('a descriptor that is not open is refused', async () => {
    const descriptor = shared(64)
    closeDescriptor(descriptor)
    await expectFailure(
      () => importPool({ kind: 'shared', attachment: descriptor, byteSize: 64, keep: false }),
      'GENERAL_FAILURE',
    )
  })

  test('memory that is sealed against writing is mapped read-only', async () => {
    await expectNoLeaks(() => {
      const descriptor = shared(4096)
      sealDescriptor(descriptor, 8)
      expect(() => ftruncateSync(descriptor, 1)).toThrow('EPERM')
      const pool = importPool({ kind: 'shared', attachment: descriptor, byteSize: 4096, keep: false })
      closeSync(descriptor)
      expect(pool.rights).toBe('frozen')
      expect(poolUsage().mappings).toBeGreaterThan(0)
      pool.close()
    })
  })
})
