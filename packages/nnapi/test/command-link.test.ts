import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { WorkerProcess } from '@tenon/isolate/internal'
import { CONSTANTS } from '@tenon/core/internal'
import { closeDescriptor, createSharedMemory, out, outAddress, sharing, socketPair } from '@tenon/pools/internal'
import { createPool, type Pool } from '@tenon/pools'
import { buildModel, operandSlice, spawnDriver } from '../src/index.ts'
import { PeerGone } from '../src/link/link.ts'
import { Socket } from '../src/link/socket.ts'
import { HEADER_SIZE, operations, writeHeader } from '../src/wire/frame.ts'
import { addModel, expectFailure, expectNoLeaks, floats } from './support.ts'

const fixture = (name: string): string => join(import.meta.dirname, 'fixtures', name)

const argsOf = (pool: Pool<'writable'>) => ({ inputs: [pool.slice(0, 8)], outputs: [pool.slice(16, 8)] })

describe.runIf(process.platform === 'linux')('command memory of a driver in a process', () => {
  test('has the blocking calls that follow each other', async () => {
    await expectNoLeaks(async () => {
      await using driver = await spawnDriver()
      using prepared = await driver.prepare(addModel([1, 2]))
      using pool = createPool(64)
      const exchange = vi.spyOn(WorkerProcess.prototype, 'exchange')
      try {
        for (let i = 0; i < 200; i++) {
          pool.write(0, new Float32Array([i, i]))
          prepared.run(argsOf(pool))
          expect(floats(pool.read(16, 8))).toEqual([i + 1, i + 2])
        }
        expect(exchange.mock.calls.length).toBeGreaterThan(150)
      } finally {
        exchange.mockRestore()
      }
    })
  })

  test('a pool that is announced on the socket is known to the call in command memory that follows it', async () => {
    await using driver = await spawnDriver()
    using prepared = await driver.prepare(addModel([1, 2]))
    for (let i = 0; i < 300; i++) {
      using pool = createPool(64)
      pool.write(0, new Float32Array([i, i]))
      prepared.run(argsOf(pool))
      // The second one is in command memory, unless the driver was not run between them.
      prepared.run(argsOf(pool))
      expect(floats(pool.read(16, 8))).toEqual([i + 1, i + 2])
    }
  })

  test('calls that are awaited, have a deadline or follow a pause are answered between the others', async () => {
    await using driver = await spawnDriver()
    using prepared = await driver.prepare(addModel([1, 2]))
    using pool = createPool(64)
    for (let i = 0; i < 60; i++) {
      pool.write(0, new Float32Array([i, i]))
      if (i % 20 === 19) await setTimeout(80)
      const running = i % 3 === 0 ? [prepared.runAsync(argsOf(pool)), prepared.runAsync(argsOf(pool))] : []
      if (i % 4 === 0) prepared.run(argsOf(pool), { deadline: 10_000 })
      prepared.run(argsOf(pool))
      await Promise.all(running)
      expect(floats(pool.read(16, 8))).toEqual([i + 1, i + 2])
    }
  })

  test('an error is the error of the call, and the next call is answered', async () => {
    await using driver = await spawnDriver()
    using prepared = await driver.prepare(addModel([1, 2], [0]))
    using pool = createPool(64)
    for (let i = 0; i < 20; i++) {
      const args = { inputs: [operandSlice(pool, 0, 'TENSOR_FLOAT32', [2])], outputs: [pool.slice(16, 4)] }
      await expectFailure(() => prepared.run(args), 'OUTPUT_INSUFFICIENT_SIZE')
    }
  })

  test('a call fails with DEAD_OBJECT when the driver is killed meanwhile', async () => {
    await expectNoLeaks(async () => {
      await using driver = await spawnDriver({ command: [process.execPath, fixture('server.js')] })
      using dies = await driver.prepare(
        buildModel((g) =>
          g.output(g.operation('DIE', [g.input('TENSOR_FLOAT32', [2])], { type: 'TENSOR_FLOAT32', dimensions: [2] })),
        ),
      )
      using prepared = await driver.prepare(addModel([1, 2]))
      using pool = createPool(64)
      for (let i = 0; i < 5; i++) prepared.run(argsOf(pool))
      const start = performance.now()
      await expectFailure(() => dies.run(argsOf(pool)), 'DEAD_OBJECT')
      expect(performance.now() - start).toBeLessThan(5000)
    })
  })

  test('a driver that another program has started answers as fast', async () => {
    const command = ['sh', '-c', `"$0" "$1" & wait`, process.execPath, fixture('server.js')]
    await using driver = await spawnDriver({ command })
    using prepared = await driver.prepare(addModel([1, 2]))
    using pool = createPool(64)
    for (let i = 0; i < 20; i++) prepared.run(argsOf(pool))
    const start = performance.now()
    for (let i = 0; i < 200; i++) prepared.run(argsOf(pool))
    // A wait that nothing ends takes 10 ms.
    expect(performance.now() - start).toBeLessThan(1500)
  })

  test.each([
    ['honest', 'accepts an answer with the right shapes'],
    ['truncated', 'disconnects a driver whose answer is truncated'],
    ['of another request', 'disconnects a driver that answers another request'],
    ['with shapes that the model cannot have', 'disconnects a driver whose shapes the model cannot have'],
    ['longer than a slot', 'disconnects a driver whose answer is longer than a slot'],
    ['without a body, and then the end', 'disconnects a driver that answers without a body and closes its socket'],
    ['none', 'disconnects a driver that ends without an answer'],
  ])('answers in command memory (%s): a client %s', async (how) => {
    await expectNoLeaks(async () => {
      await using driver = await spawnDriver({ command: [process.execPath, fixture('hostile-driver.js'), how] })
      using prepared = await driver.prepare(addModel([1, 2]))
      using pool = createPool(64)
      expect(prepared.run(argsOf(pool)).outputs).toHaveLength(1)
      const exchange = vi.spyOn(WorkerProcess.prototype, 'exchange')
      try {
        if (how === 'honest') expect(prepared.run(argsOf(pool)).outputs).toHaveLength(1)
        else await expectFailure(() => prepared.run(argsOf(pool)), 'DEAD_OBJECT')
        expect(exchange).toHaveBeenCalled()
      } finally {
        exchange.mockRestore()
      }
    })
  })

  test.each([
    ['a truncated message', 20],
    ['a length beyond the slot', 0xffffffff],
    ['a message with a wrong magic number', HEADER_SIZE],
  ])('a driver ends the connection to a client that posts %s', async (_, length) => {
    const memory = createSharedMemory(CONSTANTS.TN_HOST_COMMAND_SIZE, 'command')
    const [mine, theirs] = socketPair('messages')
    const child = spawn(process.execPath, [fixture('server.js')], {
      stdio: ['ignore', 'inherit', 'inherit', theirs, 'ignore', memory],
      env: { ...process.env, TENON_DRIVER_DESCRIPTOR: '3' },
    })
    const exited = once(child, 'exit')
    sharing().tn_host_join(memory, child.pid!, outAddress())
    const host = new WorkerProcess(Number(out.u64[0]))
    closeDescriptor(memory)
    closeDescriptor(theirs)
    const socket = new Socket(mine)
    try {
      writeHeader(socket.sent.view, HEADER_SIZE, { operation: operations.HELLO, id: 1 })
      socket.sent.bytes[HEADER_SIZE] = 0x80
      socket.send(HEADER_SIZE, [], 1000)
      expect(socket.receive(20_000)).toEqual([])
      // A blocking call of a model that does not exist, after which the driver awaits another one.
      socket.sent.bytes.fill(0, HEADER_SIZE, HEADER_SIZE + 16)
      writeHeader(socket.sent.view, HEADER_SIZE + 16, { operation: operations.EXECUTE, id: 2 })
      socket.send(HEADER_SIZE + 16, [], 1000)
      expect(socket.receive(20_000)).toEqual([])
      host.memory.writeRequest(0, CONSTANTS.TN_HOST_RUN, 0, 1, Infinity)
      host.memory.writeBody(0, new Uint8Array(HEADER_SIZE))
      host.memory.writeLength(0, length)
      const { TN_HOST_AWAITED: AWAITED, TN_HOST_POSTED: POSTED } = CONSTANTS
      // The driver awaits it for a short time after each call.
      for (let id = 3; !host.memory.changeState(0, AWAITED, POSTED); id++) {
        writeHeader(socket.sent.view, HEADER_SIZE + 16, { operation: operations.EXECUTE, id })
        socket.send(HEADER_SIZE + 16, [], 1000)
        expect(socket.receive(20_000)).toEqual([])
        host.exchange(1, 1)
      }
      // The answer has no body, because the reason is on the socket.
      expect(host.exchange(0, 10_000)).toBe('changed')
      if (length <= CONSTANTS.TN_HOST_BODY_SIZE) expect(() => socket.receive(10_000)).toThrow(PeerGone)
    } finally {
      socket.close()
      host.close()
      await exited
    }
  })
})
