import { chmodSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs' // prettier-ignore
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { packageFlags } from '@tenon/config/package-flags'
import { runScript } from '@tenon/core/testing'
import { tensor } from '@tenon/core'
import { addressOf } from '@tenon/core/internal'
import { acceptFrom, connectTo, listenAt, socketPair } from '../../src/memory/local-socket.ts'
import { sharing } from '../../src/native/core.ts'
import { closeDescriptor, createSharedMemory } from '../../src/memory/descriptor.ts'
import { DescriptionReader, encodeDescription } from '../../src/memory/named-message.ts'
import { SharedMemory } from '../../src/memory/shared-memory.ts'
import { elementSamples } from './element-samples.ts'
import { collectUntil, openDescriptors } from './memory-status.ts'

const MIB = 2 ** 20
let directory: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-named-'))
})

afterEach(() => {
  rmSync(directory, { recursive: true, force: true })
})

const importer = (body: string): string => `
  const { SharedMemory } = await import('@tenon/pools')
  ${body}`

const inOtherProcess = async (body: string, env: Record<string, string> = {}): Promise<string> => {
  const result = await runScript(importer(body), { env, nodeOptions: packageFlags })
  if (result.code !== 0) throw new Error(`the script failed: ${result.stderr}`)
  return result.stdout.trim()
}

const messageOf = async (promise: Promise<unknown>): Promise<string> => {
  try {
    await promise
  } catch (error) {
    return (error as Error).message.split('\n')[0]!
  }
  throw new Error('nothing was thrown')
}

describe.runIf(process.platform === 'linux')('export() and openNamed()', () => {
  test('another process reads a tensor and writes a result, under a name in XDG_RUNTIME_DIR', async () => {
    const before = process.env['XDG_RUNTIME_DIR']
    process.env['XDG_RUNTIME_DIR'] = directory
    try {
      using memory = SharedMemory.open({ chunk: '1 MiB', label: 'images' })
      const x = tensor('f32', [2, 2], undefined, { allocator: memory })
      x.set([
        [1, 2],
        [3, 4],
      ])
      const y = tensor('f32', [2, 2], undefined, { allocator: memory })
      using exported = await memory.export({ name: 'images', tensors: { x, y } })
      expect(exported.path).toBe(join(directory, 'tenon', 'images'))
      expect(lstatSync(join(directory, 'tenon')).mode & 0o777).toBe(0o700)
      expect(lstatSync(exported.path).mode & 0o777).toBe(0o600)
      expect(readdirSync(join(directory, 'tenon'))).toEqual(['images'])
      const printed = await inOtherProcess(
        `const memory = await SharedMemory.openNamed('images')
         const x = memory.tensor('x')
         memory.tensor('y').set(x.toNested().map((row) => row.map((value) => value * 10)))
         console.log(memory.identity, Object.keys(memory.locations).join())`,
        { XDG_RUNTIME_DIR: directory },
      )
      expect(printed).toBe(`${memory.identity} x,y`)
      expect(y.toNested()).toEqual([
        [10, 20],
        [30, 40],
      ])
    } finally {
      if (before === undefined) delete process.env['XDG_RUNTIME_DIR']
      else process.env['XDG_RUNTIME_DIR'] = before
    }
  })

  test('every element type crosses bit by bit, and more chunks than one message has', async () => {
    using memory = SharedMemory.open({ chunk: '1 MiB' })
    const all = elementSamples(memory)
    const large = Array.from({ length: 40 }, () => memory.allocate(MIB))
    using _ = await memory.export({
      name: 'types',
      directory,
      tensors: Object.fromEntries(all.map((x, i) => [`t${i}`, x])),
    })
    const before = openDescriptors()
    const imported = await SharedMemory.openNamed('types', { directory })
    all.forEach((x, i) => expect(imported.tensor(`t${i}`).equals(x)).toBe(true))
    expect(openDescriptors()).toBe(before + memory.usage.chunks)
    expect(large.length).toBeLessThan(memory.usage.chunks)
    imported.close()
    expect(openDescriptors()).toBe(before)
  })

  test('memory after readOnly() is read-only for the other process', async () => {
    using memory = SharedMemory.open({ chunk: '1 MiB' })
    const x = tensor('i32', [2], undefined, { allocator: memory })
    memory.readOnly()
    using _ = await memory.export({ name: 'fixed', directory, tensors: { x } })
    using imported = await SharedMemory.openNamed('fixed', { directory })
    x.set([5, 6])
    expect(imported.tensor('x').toArray()).toEqual([5, 6])
    expect(() => imported.tensor('x').set([1, 2])).toThrow(/read-only/)
  })

  test('closing the export or the memory removes the name, and the name is free again', async () => {
    const memory = SharedMemory.open({ chunk: '1 MiB' })
    const exported = await memory.export({ name: 'a', directory })
    expect(await messageOf(memory.export({ name: 'a', directory }))).toBe(
      `the name of the memory is in use: ${join(directory, 'a')}`,
    )
    exported.close()
    expect(existsSync(exported.path)).toBe(false)
    const again = await memory.export({ name: 'a', directory })
    memory.close()
    expect([again.isAlive, existsSync(again.path)]).toEqual([false, false])
    expect(await messageOf(SharedMemory.openNamed('a', { directory }))).toMatch(/^no program exports memory at/)
    expect(readdirSync(directory)).toEqual([])
  })

  test('a process that ends removes its name, and the name of one that was killed is taken over', async () => {
    const start = (end: string): Promise<string> =>
      inOtherProcess(
        `const memory = SharedMemory.open({ chunk: '1 MiB' })
         await memory.export({ name: 'mine', directory: ${JSON.stringify(directory)} })
         ${end}`,
      )
    await start('process.exit(0)')
    expect(readdirSync(directory)).toEqual([])
    await expect(start(`process.kill(process.pid, 'SIGKILL')`)).rejects.toThrow('the script failed')
    expect(readdirSync(directory)).toEqual(['mine'])
    expect(await messageOf(SharedMemory.openNamed('mine', { directory }))).toMatch(/^no program exports memory at/)
    using memory = SharedMemory.open({ chunk: '1 MiB' })
    using _ = await memory.export({ name: 'mine', directory })
    using imported = await SharedMemory.openNamed('mine', { directory })
    expect(imported.identity).toBe(memory.identity)
    expect(readdirSync(directory)).toEqual(['mine'])
  })

  test('names and directories that others could use are refused', async () => {
    using memory = SharedMemory.open({ chunk: '1 MiB' })
    for (const name of ['', '../x', 'a/b', '.hidden', 'x'.repeat(65), 5, null, undefined, 'a\0b'])
      expect(await messageOf(memory.export({ name: name as string, directory }))).toMatch(
        /^name must be a string of 1 to 64/,
      )
    const open = join(directory, 'open')
    mkdirSync(open)
    chmodSync(open, 0o755)
    expect(await messageOf(memory.export({ name: 'a', directory: open }))).toMatch(
      /^directory must be a directory of user \d+ that no one else can enter, got a directory of user \d+ with the mode 0755/,
    )
    symlinkSync(directory, join(directory, 'link'))
    expect(await messageOf(memory.export({ name: 'a', directory: join(directory, 'link') }))).toMatch(
      /got a file of user/,
    )
    expect(await messageOf(memory.export({ name: 'a', directory: join(directory, 'x', 'y') }))).toMatch(
      /cannot be used/,
    )
    writeFileSync(join(directory, 'file'), '')
    expect(await messageOf(memory.export({ name: 'file', directory }))).toMatch(/^the name of the memory is in use/)
    expect(await messageOf(memory.export({ name: 'a', directory: join(directory, 'd'.repeat(100)) }))).toMatch(/path/)
    expect(await messageOf(SharedMemory.openNamed('a', { directory, timeout: 0 }))).toMatch(/^timeout must be above 0/)
    expect(await messageOf(SharedMemory.openNamed('a', { directory, backing: 'x' as never }))).toMatch(
      /^backing must be/,
    )
    expect(await messageOf(memory.export(undefined as never))).toMatch(/^options must be an object with a name/)
    delete process.env['XDG_RUNTIME_DIR']
    expect(await messageOf(memory.export({ name: 'a' }))).toMatch(/^directory must be given where XDG_RUNTIME_DIR/)
  })

  test('tensors of a closed arena are no longer named', async () => {
    using memory = SharedMemory.open({ chunk: '1 MiB' })
    const arena = memory.arena()
    const x = tensor('i32', [2], undefined, { allocator: arena })
    using _ = await memory.export({ name: 'a', directory, tensors: { x } })
    arena.close()
    using imported = await SharedMemory.openNamed('a', { directory })
    expect(Object.keys(imported.locations)).toEqual([])
  })
})

describe.runIf(process.platform === 'linux')('hostile programs', () => {
  const valid = {
    identity: 'i',
    label: '',
    chunks: [{ id: 0, byteSize: MIB }],
    tensors: { x: { chunk: 0, byteOffset: 0, dtype: 'f32', shape: [2] } },
  }

  /** A program that sends these messages, each with descriptors, to the first that connects. */
  async function serve(
    messages: readonly { bytes: Uint8Array; descriptors: readonly number[] }[],
    isOpen = false,
  ): Promise<string> {
    const path = join(directory, 'bad')
    const listener = listenAt(path)
    const before = openDescriptors()
    const opened = messageOf(
      SharedMemory.openNamed('bad', { directory, timeout: 300 }).then((memory) => {
        memory.close()
        throw new Error('opened')
      }),
    )
    const channel = acceptFrom(listener)!
    for (const { bytes, descriptors } of messages) {
      const list = Int32Array.from(descriptors)
      const at = list.length === 0 ? 0 : addressOf(list)
      sharing().tn_channel_send(channel, addressOf(bytes), bytes.length, at, list.length, 0)
    }
    if (!isOpen) closeDescriptor(channel)
    const message = await opened
    if (isOpen) closeDescriptor(channel)
    // Descriptors of others are closed by another thread.
    for (let i = 0; i < 400 && openDescriptors() !== before; i++) await sleep(5)
    expect(openDescriptors()).toBe(before)
    closeDescriptor(listener)
    rmSync(path)
    return message
  }

  const one = (description: object): Uint8Array => encodeDescription(description as typeof valid)[0]!.bytes

  function changed(change: (bytes: Buffer) => void): Uint8Array {
    const bytes = Buffer.from(one(valid))
    change(bytes)
    return bytes
  }

  test('an owner that lies is refused, and everything that it sent is closed', async () => {
    const memory = createSharedMemory(MIB, 'bad')
    const [pipe, other] = socketPair('stream')
    const file = process.getBuiltinModule('node:fs').openSync(join(directory, 'plain'), 'w+')
    try {
      expect(await serve([{ bytes: one(valid), descriptors: [memory] }])).toBe('opened')
      const rows: [string, Uint8Array, number[], RegExp][] = [
        ['a socket', one(valid), [pipe], /sealed against shrinking/],
        ['a file that can shrink', one(valid), [file], /sealed against shrinking/],
        [
          'memory that is smaller',
          one({ ...valid, chunks: [{ id: 0, byteSize: 2 * MIB }] }),
          [memory],
          /must have 2097152 bytes/,
        ],
        ['a chunk without bytes', one({ ...valid, chunks: [{ id: 0, byteSize: 0 }] }), [memory], /must have 0 bytes/],
        ['no descriptor', one(valid), [], /0 descriptors|1 descriptors instead of 0/],
        ['two descriptors', one(valid), [memory, memory], /instead of 2/],
        ['other magic bytes', changed((bytes) => bytes.write('XXXX')), [memory], /malformed: it has the magic bytes/],
        ['a later version', changed((bytes) => bytes.writeUInt16LE(2, 4)), [memory], /version 1, got 2/],
        ['another index', changed((bytes) => bytes.writeUInt16LE(1, 6)), [memory], /message 1 of 1/],
        ['no messages', changed((bytes) => bytes.writeUInt16LE(0, 8)), [memory], /message 0 of 0/],
        ['many messages', changed((bytes) => bytes.writeUInt16LE(65_535, 8)), [memory], /message 0 of 65535/],
        ['another length', changed((bytes) => bytes.writeUInt32LE(2 ** 32 - 1, 12)), [memory], /length of its text/],
        ['no JSON', changed((bytes) => bytes.fill('x', 16)), [memory], /not JSON/],
        ['no UTF-8', changed((bytes) => bytes.fill(0xff, 16)), [memory], /not JSON/],
        ['a short message', Buffer.from('TNSM'), [memory], /magic bytes/],
        ['a number', changed((bytes) => bytes.fill(' ', 16).write('5', 20)), [memory], /not an object/],
        ['no identity', one({ ...valid, identity: 5 }), [memory], /identity/],
        ['no tensors', one({ ...valid, tensors: null }), [memory], /tensors/],
        ['chunks of null', one({ ...valid, chunks: [null] }), [memory], /chunks/],
        ['a chunk with a text', one({ ...valid, chunks: [{ id: '0', byteSize: MIB }] }), [memory], /chunks/],
        ['a negative number', one({ ...valid, chunks: [{ id: -1, byteSize: MIB }] }), [memory], /chunks/],
        ['a long message', Buffer.alloc(60_000, 'TNSM'), [memory], /too long/],
      ]
      for (const [name, bytes, descriptors, message] of rows)
        expect(`${name}: ${await serve([{ bytes, descriptors }])}`).toMatch(message)
      const twice = { ...valid, chunks: [valid.chunks[0]!, valid.chunks[0]!] }
      expect(await serve([{ bytes: one(twice), descriptors: [memory, memory] }])).toMatch(/got 0 twice/)
      expect(await serve([])).toMatch(/closed/)
      expect(await serve([], true)).toMatch(/did not answer in time/)
      expect(await serve([{ bytes: changed((bytes) => bytes.writeUInt16LE(2, 8)), descriptors: [memory] }])).toMatch(
        /closed/,
      )
    } finally {
      for (const each of [memory, pipe, other, file]) closeDescriptor(each)
    }
  })

  test('random changes of the messages are refused or harmless', async () => {
    const memory = createSharedMemory(MIB, 'bad')
    let seed = 1
    const random = (limit: number): number => (seed = (seed * 48_271) % 2_147_483_647) % limit
    const good = Buffer.from(one(valid))
    for (let i = 0; i < 400; i++) {
      const bytes = Buffer.from(good.subarray(0, random(8) === 0 ? random(good.length) : good.length))
      for (let j = random(4); j >= 0 && bytes.length > 0; j--) bytes[random(bytes.length)] = random(256)
      const reader = new DescriptionReader()
      try {
        reader.add(bytes, 1)
        if (!reader.isComplete) continue
        const { chunks, tensors } = reader.read(1)
        expect([chunks.length, typeof tensors]).toEqual([1, 'object'])
      } catch (error) {
        expect((error as Error).name).toBe('PoolsError')
      }
    }
    closeDescriptor(memory)
  })

  test('locations of an owner that lies are checked when a tensor is made', async () => {
    using memory = SharedMemory.open({ chunk: '1 MiB' })
    memory.allocate(1)
    using _ = await memory.export({ name: 'a', directory })
    using imported = await SharedMemory.openNamed('a', { directory })
    for (const place of [
      { chunk: 0, byteOffset: MIB - 4, dtype: 'f32', shape: [2] },
      { chunk: 9 },
      null,
      [],
      { chunk: {} },
    ])
      expect(() => imported.tensor(place as never)).toThrow(/ must /)
  })

  test('programs that connect and do not read, or leave, do not hold the owner up', async () => {
    using memory = SharedMemory.open({ chunk: '1 MiB' })
    const kept = Array.from({ length: 30 }, () => memory.allocate(MIB))
    using exported = await memory.export({ name: 'a', directory })
    const before = openDescriptors()
    const silent = Array.from({ length: 60 }, () => connectTo(exported.path))
    silent.splice(0, 30).forEach(closeDescriptor)
    for (let i = 0; i < 5; i++) {
      using imported = await SharedMemory.openNamed('a', { directory })
      expect(imported.identity).toBe(memory.identity)
    }
    silent.forEach(closeDescriptor)
    // The owner may still have to close the last connection.
    expect(await collectUntil(() => openDescriptors() === before)).toBe(true)
    expect(kept).toHaveLength(30)
  })
})
