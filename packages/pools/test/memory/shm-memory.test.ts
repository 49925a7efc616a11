import { existsSync, lstatSync, rmSync, statfsSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { packageFlags } from '@tenon/config/package-flags'
import { tensor } from '@tenon/core'
import { runScript } from '@tenon/core/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { SharedMemory } from '../../src/memory/shared-memory.ts'

const MIB = 2 ** 20

describe.runIf(process.platform === 'linux')("backing: 'shm'", () => {
  const name = `tenon-test-${process.pid}`
  const path = `/dev/shm/${name}`

  afterEach(() => rmSync(path, { force: true }))

  test('is a file of /dev/shm that only this user opens, and that goes when the memory is closed', async () => {
    const memory = SharedMemory.open({ backing: 'shm', name, limit: '2 MiB' })
    const facts = lstatSync(path)
    expect([facts.mode & 0o777, facts.size]).toEqual([0o600, 2 * MIB])
    const x = tensor('f32', [3], undefined, { allocator: memory })
    x.set([1, 2, 3])
    using imported = await SharedMemory.openNamed(name, { backing: 'shm' })
    const theirs = imported.tensor(memory.locate(x))
    expect(theirs.toArray()).toEqual([1, 2, 3])
    theirs.set([4, 5, 6])
    expect(x.toArray()).toEqual([4, 5, 6])
    expect(() => memory.allocate(3 * MIB)).toThrow(/^the shared memory must have at most 2097152 bytes/)
    expect(() => memory.handle()).toThrow(/^memory in \/dev\/shm must be opened by its name, and cannot be posted/)
    await expect(memory.export({ name: 'a', directory: tmpdir() })).rejects.toThrow(/cannot be exported/)
    expect(() => memory.readOnly()).toThrow(/sealing/)
    memory.close()
    expect(existsSync(path)).toBe(false)
    expect(theirs.toArray()).toEqual([4, 5, 6])
  })

  test('reserves its memory, and is refused without a file if there is too little', () => {
    const { bsize, blocks } = statfsSync('/dev/shm')
    const open = (limit: number): SharedMemory => SharedMemory.open({ backing: 'shm', name, limit })
    expect(() => open(bsize * blocks + MIB)).toThrow(
      /cannot be used as memory: reserving room .*No space left on device.*\nHint: Use a lower limit, or give \/dev\/shm more memory/,
    )
    expect(existsSync(path)).toBe(false)
    using memory = open(4 * MIB)
    expect(lstatSync(path).blocks).toBe((4 * MIB) / 512)
    {
      using arena = memory.arena()
      tensor('u8', [MIB], undefined, { allocator: arena }).view().fill(1)
    }
    expect(lstatSync(path).blocks).toBe((4 * MIB) / 512)
  })

  test('survives a program that makes the file smaller', async () => {
    using memory = SharedMemory.open({ backing: 'shm', name, limit: '1 MiB' })
    const x = tensor('f32', [1000], undefined, { allocator: memory })
    x.set(new Float32Array(1000).fill(1))
    using imported = await SharedMemory.openNamed(name, { backing: 'shm' })
    const theirs = imported.tensor(memory.locate(x))
    process.getBuiltinModule('node:fs').truncateSync(path, 0)
    expect(theirs.toArray().every((value) => value === 0)).toBe(true)
    expect(x.toArray().every((value) => value === 0)).toBe(true)
  })

  test('names in use, links, empty files and missing options are refused', async () => {
    writeFileSync(path, '')
    const options = { backing: 'shm', name, limit: '1 MiB' } as const
    expect(() => SharedMemory.open(options)).toThrow(/cannot be used as memory: EEXIST/)
    await expect(SharedMemory.openNamed(name, { backing: 'shm' })).rejects.toThrow(/must be a file that is not empty/)
    rmSync(path)
    symlinkSync('/etc/hostname', path)
    expect(() => SharedMemory.open(options)).toThrow(/EEXIST|ELOOP/)
    await expect(SharedMemory.openNamed(name, { backing: 'shm' })).rejects.toThrow(/ELOOP/)
    rmSync(path)
    await expect(SharedMemory.openNamed(name, { backing: 'shm' })).rejects.toThrow(/ENOENT/)
    expect(() => SharedMemory.open({ backing: 'shm', name })).toThrow(/must have a name and a limit/)
    expect(() => SharedMemory.open({ backing: 'shm', limit: MIB })).toThrow(/must have a name and a limit/)
    expect(() => SharedMemory.open({ ...options, chunk: MIB })).toThrow(/must have a name and a limit/)
    expect(() => SharedMemory.open({ ...options, name: '../x' })).toThrow(/^name must be a string/)
    expect(() => SharedMemory.open({ name })).toThrow(/^only memory in \/dev\/shm must have a name/)
  })

  test('a process that ends removes its file', async () => {
    const end = `SharedMemory.open({ backing: 'shm', name: ${JSON.stringify(name)}, limit: '1 MiB' })`
    const { code, stderr } = await runScript(`const { SharedMemory } = await import('@tenon/pools')\n${end}`, {
      nodeOptions: packageFlags,
    })
    expect(code, stderr).toBe(0)
    expect(existsSync(path)).toBe(false)
  })
})
