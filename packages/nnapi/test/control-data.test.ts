import { addressOf } from '@tenon/core/internal'
import koffi from 'koffi'
import { describe, expect, test } from 'vitest'
import { HEADER_SIZE, operations, writeHeader } from '../src/wire/frame.ts'
import { closeDescriptor, createSharedMemory } from '@tenon/pools/internal'
import { attack, expectDisconnected } from './attack.ts'

describe('control data of every shape', () => {
  const send = koffi.load('libc.so.6').func('int64_t sendmsg(int socket, uintptr_t message, int flags)')
  const [SOL_SOCKET, SCM_RIGHTS, SCM_CREDENTIALS] = [1, 1, 2]

  /** One piece of control data, as `struct cmsghdr` has it. */
  const piece = (type: number, numbers: readonly number[]): Buffer => {
    const data = Buffer.alloc(16 + Math.ceil((numbers.length * 4) / 8) * 8)
    data.writeBigUInt64LE(BigInt(16 + numbers.length * 4), 0)
    data.writeInt32LE(SOL_SOCKET, 8)
    data.writeInt32LE(type, 12)
    numbers.forEach((number, i) => data.writeInt32LE(number, 16 + i * 4))
    return data
  }

  test.each([
    ['more descriptors than a message may have', (fds: number[]) => [piece(SCM_RIGHTS, fds.slice(0, 17))]],
    ['as many as the system takes', (fds: number[]) => [piece(SCM_RIGHTS, fds)]],
    ['fewer than the message says', () => []],
    ['two pieces', (fds: number[]) => [piece(SCM_RIGHTS, fds.slice(0, 1)), piece(SCM_RIGHTS, fds.slice(1, 3))]],
    [
      'credentials beside descriptors',
      (fds: number[]) => [
        piece(SCM_CREDENTIALS, [process.pid, process.getuid!(), process.getgid!()]),
        piece(SCM_RIGHTS, fds.slice(0, 3)),
      ],
    ],
  ])('%s', async (_, piecesOf) => {
    await attack((client) => {
      const descriptors = Array.from({ length: 253 }, () => createSharedMemory(64, 'gift'))
      // A header that says there is one descriptor.
      const header = Buffer.alloc(HEADER_SIZE)
      writeHeader(new DataView(header.buffer, header.byteOffset), HEADER_SIZE, {
        operation: operations.REGISTER_POOL,
        id: 1,
        descriptors: 1,
      })
      const controlData = Buffer.concat(piecesOf(descriptors))
      const part = Buffer.alloc(16)
      part.writeBigUInt64LE(BigInt(addressOf(header)), 0)
      part.writeBigUInt64LE(BigInt(header.length), 8)
      const message = Buffer.alloc(56)
      message.writeBigUInt64LE(BigInt(addressOf(part)), 16)
      message.writeBigUInt64LE(1n, 24)
      if (controlData.length > 0) message.writeBigUInt64LE(BigInt(addressOf(controlData)), 32)
      message.writeBigUInt64LE(BigInt(controlData.length), 40)
      expect(Number(send(client.socket.descriptor, addressOf(message), 0))).toBe(HEADER_SIZE)
      expectDisconnected(client)
      descriptors.forEach(closeDescriptor)
    })
  })
})
