import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, openSync, closeSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { addressOf, keepAlive } from '@tenon/core/internal'
import { afterEach, beforeEach, describe, expect, expectTypeOf, test } from 'vitest'
import { createFrozenPool, createPool, type Pool, receivePools } from '../../src/index.ts'
import { closeDescriptor, createSharedMemory } from '../../src/memory/descriptor.ts'
import { acceptFrom, listenAt, socketPair } from '../../src/memory/local-socket.ts'
import { readable } from '../../src/memory/readable.ts'
import { sharing } from '../../src/native/core.ts'
import { expectFailure, expectNoLeaks, floats } from '../support.ts'

type ReceiveOptions = NonNullable<Parameters<typeof receivePools>[1]>

const program = fileURLToPath(new URL('../fixtures/send-memory.py', import.meta.url))
const hasPython = spawnSync('python3', ['-c', 'import os, socket; socket.send_fds, os.memfd_create']).status === 0

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-receive-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

/** Starts the program in Python, and returns the path at which it listens, once it does. */
async function python(what: string, type = 'stream'): Promise<{ path: string; printed: () => Promise<string> }> {
  const path = join(directory, 'socket')
  const child = spawn('python3', [program, path, type, what], { stdio: ['ignore', 'pipe', 'inherit'] })
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text))
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  await new Promise<void>((resolve) => child.stdout.once('data', () => resolve()))
  return {
    path,
    printed: async () => {
      expect(await ended).toBe(0)
      return printed.replace('listening\n', '').trim()
    },
  }
}

/** Sends a message with descriptors over a pair of sockets, and receives it. */
async function exchange(
  bytes: Uint8Array,
  descriptors: readonly number[],
  options?: ReceiveOptions,
): ReturnType<typeof receivePools> {
  const [mine, theirs] = socketPair('messages')
  try {
    const list = Int32Array.from(descriptors)
    const at = list.length === 0 ? 0 : addressOf(list)
    expect(sharing().tn_channel_send(theirs, addressOf(bytes), bytes.length, at, list.length, 0)).toBe(0)
    keepAlive(list)
    keepAlive(bytes)
    return await receivePools(mine, options)
  } finally {
    closeDescriptor(mine)
    closeDescriptor(theirs)
  }
}

const close = ({ pools }: { readonly pools: readonly Pool[] }): void => pools.forEach((pool) => pool.close())

describe.runIf(process.platform === 'linux' && hasPython)('memory that a program in Python sends', () => {
  test.each(['stream', 'seqpacket'])(
    'is a pool that both programs write, over a socket of the type %s',
    async (type) => {
      await expectNoLeaks(async () => {
        const { path, printed } = await python('writable', type)
        const { pools, bytes } = await receivePools(path, { rights: 'writable', label: 'frames' })
        expectTypeOf(pools).toEqualTypeOf<readonly Pool<'writable'>[]>()
        expect(Buffer.from(bytes).toString()).toBe('{"width": 4}')
        const [frame, answer] = pools as [Pool<'writable'>, Pool<'writable'>]
        expect([String(frame), answer.byteSize]).toEqual(['Pool "frames" (shared, 4096 bytes, writable, memfd)', 8192])
        expect(floats(frame.read(0, 16))).toEqual([1, 2, 3, 4])
        answer.write(0, new Float32Array([10]))
        answer.write(16, Uint8Array.of(1))
        expect(await printed()).toBe('reads 10.0')
        close({ pools })
      })
    },
  )

  test('is frozen or read-only as its seals say', async () => {
    await expectNoLeaks(async () => {
      const { path, printed } = await python('sealed')
      const { pools } = await receivePools(path)
      expect(pools.map(({ rights }) => rights)).toEqual(['frozen', 'read-only'])
      expect(pools.map((pool) => floats(pool.read(0, 4)))).toEqual([[1], [1]])
      await printed()
      close({ pools })
    })
  })

  test.each([
    ['unsealed', 'P15', 'shared memory must be sealed against shrinking'],
    ['pipe', 'P15', 'shared memory must be sealed against shrinking'],
    ['empty', 'P5', 'a pool must have at least one byte'],
    ['huge', 'P9', 'a pool must have at most 4294967295 bytes, got 4294967296'],
  ])('is refused if it is %s, and leaves nothing', async (what, rule, sentence) => {
    await expectNoLeaks(async () => {
      const { path, printed } = await python(what)
      const error = await expectFailure(
        () => receivePools(path),
        rule === 'P15' ? 'GENERAL_FAILURE' : 'INVALID_ARGUMENT',
        rule,
      )
      expect(error.sentence).toBe(`descriptors[1]: ${sentence} (rule ${rule})`)
      expect(error.hint === undefined).toBe(rule !== 'P15')
      await printed()
    })
  })
})

describe.runIf(process.platform === 'linux')('receivePools()', () => {
  test('refuses memory with other rights than the wanted ones before it is mapped', async () => {
    using frozen = createFrozenPool(new Uint8Array([1]))
    await expectNoLeaks(async () => {
      const error = await expectFailure(
        () => exchange(Uint8Array.of(1), [frozen.descriptor!], { rights: 'writable' }),
        'INVALID_ARGUMENT',
        'P18',
      )
      expect(error.sentence).toMatch('the memory must be writable, got memory that is frozen')
    })
  })

  test('maps a file only if the caller expects one, and writable only if the caller asks', async () => {
    const path = join(directory, 'weights')
    writeFileSync(path, Buffer.from('weights'))
    const [both, reading] = [openSync(path, 'r+'), openSync(path, 'r')]
    await expectNoLeaks(async () => {
      await expectFailure(() => exchange(Uint8Array.of(1), [both]), 'GENERAL_FAILURE', 'P15')
      const read = await exchange(Uint8Array.of(1), [both], { kind: 'file' })
      expect([read.pools[0]!.rights, Buffer.from(read.pools[0]!.read(0)).toString()]).toEqual(['read-only', 'weights'])
      const written = await exchange(Uint8Array.of(1), [both], { kind: 'file', rights: 'writable' })
      ;(written.pools[0] as Pool<'writable'>).write(0, Buffer.from('W'))
      expect(Buffer.from(read.pools[0]!.read(0, 2)).toString()).toBe('We')
      close(read)
      close(written)
      await expectFailure(
        () => exchange(Uint8Array.of(1), [reading], { kind: 'file', rights: 'writable' }),
        'GENERAL_FAILURE',
        'P17',
      )
      const zero = openSync('/dev/zero', 'r')
      await expectFailure(() => exchange(Uint8Array.of(1), [zero], { kind: 'file' }), 'GENERAL_FAILURE', 'P15')
      closeSync(zero)
    })
    closeSync(both)
    closeSync(reading)
  })

  test('makes a device blob of sealed memory, and no pools of a message without descriptors', async () => {
    const descriptor = createSharedMemory(4096, 'blob')
    const { pools } = await exchange(Uint8Array.of(1), [descriptor], { kind: 'device-blob' })
    expect(String(pools[0])).toBe('Pool (device-blob, 4096 bytes, writable, memfd)')
    close({ pools })
    closeDescriptor(descriptor)
    expect(await exchange(Uint8Array.of(7, 8), [])).toEqual({ pools: [], bytes: Uint8Array.of(7, 8) })
  })

  test('refuses more descriptors than a message may have, and longer messages', async () => {
    using pool = createPool(4096)
    const [mine, theirs] = socketPair('messages')
    await expectNoLeaks(async () => {
      const bytes = Buffer.alloc(65_537)
      expect(sharing().tn_channel_send(theirs, addressOf(bytes), bytes.length, 0, 0, 0)).toBe(0)
      const error = await expectFailure(() => receivePools(mine), 'INVALID_ARGUMENT')
      expect(error.sentence).toMatch('too long, or too many descriptors')
      const largest = await exchange(
        bytes.subarray(1),
        Array.from({ length: 16 }, () => pool.descriptor!),
      )
      expect([largest.pools.length, largest.bytes.length]).toEqual([16, 65_536])
      close(largest)
    })
    closeDescriptor(mine)
    closeDescriptor(theirs)
  })

  test('waits for the message, for its timeout at most, and keeps the socket of the caller open', async () => {
    using pool = createPool(4096)
    const [mine, theirs] = socketPair('stream')
    await expectNoLeaks(async () => {
      const error = await expectFailure(() => receivePools(mine, { timeout: 1 }), 'MISSED_DEADLINE_TRANSIENT')
      expect(error.sentence).toBe('no message with pools arrived within 1 ms')
      const received = receivePools(mine, { timeout: Infinity })
      const [bytes, list] = [Buffer.from('late'), Int32Array.of(pool.descriptor!)]
      sharing().tn_channel_send(theirs, addressOf(bytes), bytes.length, addressOf(list), 1, 0)
      const { pools } = await received
      expect(pools[0]!.identity).toBe(pool.identity)
      close({ pools })
    })
    closeDescriptor(theirs)
    await expectFailure(() => receivePools(mine), 'DEVICE_UNAVAILABLE')
    closeDescriptor(mine)
  })

  test('fails if nobody listens, or the program leaves without a message', async () => {
    const path = join(directory, 'driver')
    await expectNoLeaks(async () => {
      const error = await expectFailure(() => receivePools(path), 'DEVICE_UNAVAILABLE')
      expect(error.sentence).toBe(`no program listens at ${path}`)
      const listener = listenAt(path)
      const received = expectFailure(() => receivePools(path), 'DEVICE_UNAVAILABLE')
      await readable(listener, undefined)
      closeDescriptor(acceptFrom(listener)!)
      expect((await received).sentence).toMatch('the peer has closed the connection')
      closeDescriptor(listener)
    })
  })

  test.each<[unknown, unknown, string]>([
    [3.5, {}, 'socket must be a path or the descriptor of a socket, got 3.5'],
    [-1, {}, 'socket must be a path or the descriptor of a socket, got -1'],
    ['', {}, 'socket'],
    ['/x', { kind: 'device-image' }, "kind must be 'shared', 'file' or 'device-blob', got \"device-image\""],
    ['/x', { rights: 'all' }, "rights must be 'writable', 'frozen' or 'read-only', got \"all\""],
    ['/x', { timeout: 0 }, 'timeout must be above 0 ms, got 0'],
    ['/x', { label: 1 }, 'label must be a string, got 1'],
    ['/x', { right: 'frozen' }, 'rights'],
  ])('receivePools(%j, %j) is refused', async (socket, options, message) => {
    await expect(receivePools(socket as string, options as ReceiveOptions)).rejects.toThrow(message)
  })
})
