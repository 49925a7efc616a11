import { closeSync, openSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { errorStatus } from '@tenon/pools'
import { encodeBody } from '../src/wire/body.ts'
import { operations } from '../src/wire/frame.ts'
import { closeDescriptor, createSharedMemory, socketPair } from '@tenon/pools/internal'
import { ring } from '../src/link/socket.ts'
import { attack, begin, expectServed, launch } from './attack.ts'

describe('fences of others', () => {
  test('descriptors that are not fences and frames that are not executions are refused', async () => {
    await attack((client) => {
      begin(client, 1)
      const [mine, theirs] = socketPair('stream')
      const memory = createSharedMemory(64, 'no fence')
      const device = openSync('/dev/null', 'r+')
      for (const wrong of [memory, device])
        expect(launch(client, 1, [theirs, wrong])).toBe(errorStatus.INVALID_ARGUMENT)
      for (const wrong of [new Uint8Array(3), encodeBody({}), new Uint8Array(100).fill(0xa5)])
        expect(launch(client, 1, [theirs], wrong)).toBe(errorStatus.INVALID_ARGUMENT)
      expect(client.call(operations.EXECUTE_FENCED, { id: 'x' }, [theirs]).header.status).toBe(
        errorStatus.INVALID_ARGUMENT,
      )
      for (const id of [1, 2])
        expect(client.call(operations.FENCED_INFO, { id }).header.status).toBe(errorStatus.INVALID_ARGUMENT)
      for (const descriptor of [mine, theirs, memory]) closeDescriptor(descriptor)
      closeSync(device)
    })
  })

  test('fences that are never signalled count only against their client', async () => {
    await attack(async (client) => {
      begin(client, 1)
      const [mine, theirs] = socketPair('stream')
      const statuses: number[] = []
      for (let id = 0; id < 20; id++) statuses.push(launch(client, id, [theirs, mine]))
      expect(new Set(statuses)).toEqual(new Set([0, errorStatus.RESOURCE_EXHAUSTED_TRANSIENT]))
      expect(statuses.filter((status) => status === 0).length).toBe(8)
      await expectServed()
      expect(launch(client, 0, [theirs])).toBe(errorStatus.RESOURCE_EXHAUSTED_TRANSIENT)
      // Signalled once, they all run; whoever asks is told, once.
      ring(theirs)
      expect(client.call(operations.FENCED_INFO, { id: 3 }).body.field('failed').isMissing).toBe(true)
      expect(client.call(operations.FENCED_INFO, { id: 3 }).header.status).toBe(errorStatus.INVALID_ARGUMENT)
      closeDescriptor(mine)
      closeDescriptor(theirs)
    })
  })

  test('pools and models that are released while a fenced execution waits', async () => {
    await attack((client) => {
      begin(client, 1)
      const [mine, theirs] = socketPair('stream')
      expect(launch(client, 7, [theirs, mine])).toBe(0)
      client.send(operations.RELEASE_POOL, { id: 1 })
      client.send(operations.RELEASE_MODEL, { id: 1 })
      ring(theirs)
      const { body } = client.call(operations.FENCED_INFO, { id: 7 })
      expect(body.field('failed').isMissing).toBe(true)
      closeDescriptor(mine)
      closeDescriptor(theirs)
    })
  })
})
