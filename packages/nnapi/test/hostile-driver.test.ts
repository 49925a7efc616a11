import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connectDriver, type Driver } from '../src/index.ts'
import { createPool, type OutputShape, PoolsError } from '@tenon/pools'
import { encodeBody } from '../src/wire/body.ts'
import { writeResult } from '../src/wire/execute-frame.ts'
import {
  HEADER_SIZE,
  operations,
  readHeader,
  writeHeader,
  type FrameHeader,
  type HeaderFields,
} from '../src/wire/frame.ts'
import { closeDescriptor, createSharedMemory, acceptFrom, listenAt } from '@tenon/pools/internal'
import { ring, Socket } from '../src/link/socket.ts'
import { addModel, expectNoLeaks, thrownBy, until } from './support.ts'

const directory = mkdtempSync(join(tmpdir(), 'tenon-fake-'))
const path = join(directory, 'socket')
let listener: number
beforeAll(() => {
  listener = listenAt(path)
})
afterAll(() => {
  closeDescriptor(listener)
  rmSync(directory, { recursive: true })
})

type Answer = (driver: FakeDriver, header: FrameHeader) => void

/** A driver that answers well, but for what a test has it do with executions, models and buffers. */
class FakeDriver {
  readonly socket: Socket
  readonly #timer: NodeJS.Timeout
  #doorbell = -1

  constructor(answers: ReadonlyMap<number, Answer>) {
    this.socket = new Socket(acceptFrom(listener)!)
    this.#timer = setInterval(() => this.#turn(answers), 1)
  }

  answer(
    header: FrameHeader,
    body: Uint8Array,
    fields: Partial<HeaderFields> = {},
    descriptors: readonly number[] = [],
  ): void {
    this.socket.sent.bytes.set(body, HEADER_SIZE)
    this.#send(
      HEADER_SIZE + body.length,
      { operation: header.operation, id: header.id, isReply: true, descriptors: descriptors.length, ...fields },
      descriptors,
    )
  }

  /** Answers an execution with shapes. */
  result(header: FrameHeader, shapes: readonly OutputShape[], fields: Partial<HeaderFields> = {}): void {
    const length = writeResult(this.socket.sent.view, shapes, 1000)
    this.#send(length, { operation: header.operation, id: header.id, isReply: true, ...fields }, [])
  }

  ring(): void {
    if (this.#doorbell !== -1) ring(this.#doorbell)
  }

  close(): void {
    clearInterval(this.#timer)
    this.socket.close()
    if (this.#doorbell !== -1) closeDescriptor(this.#doorbell)
    this.#doorbell = -1
  }

  #send(length: number, fields: HeaderFields, descriptors: readonly number[]): void {
    writeHeader(this.socket.sent.view, length, fields)
    this.socket.send(length, descriptors, 100)
    this.ring()
  }

  #turn(answers: ReadonlyMap<number, Answer>): void {
    try {
      const descriptors = this.socket.receive(0)
      if (descriptors === undefined) return
      const header = readHeader(this.socket.received.view)
      if (header.operation === operations.HELLO) this.#doorbell = descriptors[0]!
      else for (const descriptor of descriptors) closeDescriptor(descriptor)
      const honest: Record<number, object> = {
        [operations.HELLO]: { pools: 10, poolBytes: 1e9, requests: 10 },
        [operations.PREPARE]: { id: 1 },
        [operations.ALLOCATE]: { token: 7 },
      }
      const given = answers.get(header.operation)
      if (given !== undefined) given(this, header)
      else if (honest[header.operation] !== undefined) this.answer(header, encodeBody(honest[header.operation]))
    } catch {
      this.close()
    }
  }
}

/** Connects to a fake driver and closes both. */
async function withDriver(
  answers: readonly (readonly [number, Answer])[],
  run: (driver: Driver) => Promise<void>,
): Promise<void> {
  await expectNoLeaks(async () => {
    const connecting = connectDriver(path)
    const fake = new FakeDriver(new Map(answers))
    try {
      const driver = await connecting
      await run(driver)
      await driver[Symbol.asyncDispose]()
    } finally {
      fake.close()
    }
  })
}

const fine: readonly OutputShape[] = [{ dimensions: [2], isSufficient: true }]

const lies: readonly (readonly [what: string, answer: Answer])[] = [
  ['an id that nobody asked for', (driver, header) => driver.result({ ...header, id: header.id + 1000 }, fine)],
  ['another operation', (driver, header) => driver.result(header, fine, { operation: operations.PREPARE })],
  [
    'a request',
    (driver, header) => driver.answer(header, encodeBody({}), { isReply: false, operation: operations.HELLO }),
  ],
  ['an unknown status', (driver, header) => driver.answer(header, encodeBody({ sentence: 'x' }), { status: 9 })],
  [
    'a status that only a dead driver has',
    (driver, header) => driver.answer(header, encodeBody({ sentence: 'x' }), { status: 10_000 }),
  ],
  [
    'descriptors',
    (driver, header) => {
      const descriptor = createSharedMemory(64, 'gift')
      driver.answer(header, encodeBody({ sentence: 'x' }), { status: 2 }, [descriptor])
      closeDescriptor(descriptor)
    },
  ],
  ['too few outputs', (driver, header) => driver.result(header, [])],
  ['too many outputs', (driver, header) => driver.result(header, [...fine, ...fine])],
  ['another rank', (driver, header) => driver.result(header, [{ dimensions: [1, 2], isSufficient: true }])],
  [
    'another size than the model fixes',
    (driver, header) => driver.result(header, [{ dimensions: [3], isSufficient: true }]),
  ],
  [
    'success with too little memory',
    (driver, header) => driver.result(header, [{ dimensions: [2], isSufficient: false }]),
  ],
  ['a failure without a reason', (driver, header) => driver.answer(header, Uint8Array.of(0xc1), { status: 2 })],
  ['a reason of the wrong kind', (driver, header) => driver.answer(header, encodeBody({ sentence: 5 }), { status: 2 })],
  [
    'noise',
    (driver) => {
      driver.socket.sent.bytes.fill(0xa5, 0, 500)
      driver.socket.send(500, [], 100)
      driver.ring()
    },
  ],
  ['the end', (driver) => driver.close()],
]

describe('a driver that lies about an execution', () => {
  test.each(lies)('%s', async (_, answer) => {
    await withDriver([[operations.EXECUTE, answer]], async (driver) => {
      using model = addModel([1, 2])
      using prepared = await driver.prepare(model)
      using pool = createPool(64)
      const args = { inputs: [pool.slice(0, 8)], outputs: [pool.slice(8, 8)] }
      const attempts = await Promise.allSettled([prepared.runAsync(args), prepared.runAsync(args)])
      for (const attempt of attempts) {
        expect(attempt.status).toBe('rejected')
        const { reason } = attempt as PromiseRejectedResult
        expect(reason).toBeInstanceOf(PoolsError)
        expect(reason.status).toBe('DEAD_OBJECT')
      }
      expect((await thrownBy(() => prepared.run(args, { deadline: 1000 }))).status).toBe('DEAD_OBJECT')
      pool.close()
    })
  })

  test('a second answer to one request ends the connection', async () => {
    const twice: Answer = (driver, header) => {
      driver.result(header, fine)
      driver.result(header, fine)
    }
    await withDriver([[operations.EXECUTE, twice]], async (driver) => {
      using model = addModel([1, 2])
      using prepared = await driver.prepare(model)
      using pool = createPool(64)
      const args = { inputs: [pool.slice(0, 8)], outputs: [pool.slice(8, 8)] }
      await prepared.runAsync(args)
      expect(
        (
          await thrownBy(async () => {
            for (;;) await prepared.runAsync(args)
          })
        ).status,
      ).toBe('DEAD_OBJECT')
    })
  })

  test('a token of 0 is refused', async () => {
    await withDriver(
      [[operations.ALLOCATE, (driver, header) => driver.answer(header, encodeBody({ token: 0 }))]],
      async (driver) => {
        using model = addModel([1, 2])
        using prepared = await driver.prepare(model)
        const error = await thrownBy(() => driver.allocate({ roles: [prepared.input(0)] }))
        expect([error.status, error.rule]).toEqual(['GENERAL_FAILURE', 'D13'])
      },
    )
  })

  test('a request without an answer fails after its deadline', async () => {
    await withDriver([[operations.EXECUTE, () => {}]], async (driver) => {
      using model = addModel([1, 2])
      using prepared = await driver.prepare(model)
      const pool = createPool(64)
      const args = { inputs: [pool.slice(0, 8)], outputs: [pool.slice(8, 8)] }
      expect((await thrownBy(() => prepared.runAsync(args, { deadline: 20 }))).status).toBe('MISSED_DEADLINE_TRANSIENT')
      expect((await thrownBy(() => prepared.run(args, { deadline: 20 }))).status).toBe('MISSED_DEADLINE_TRANSIENT')
      // The driver may still write: the pool stays open until it is gone.
      expect(() => pool.close()).toThrow(/cannot be closed/)
      await driver.closeAsync()
      pool.close()
    })
  })

  test('an answer after the deadline is accepted', async () => {
    let waiting: (() => void) | undefined
    const late: Answer = (driver, header) => {
      if (waiting === undefined) waiting = () => driver.result(header, fine)
      else driver.result(header, fine)
    }
    await withDriver([[operations.EXECUTE, late]], async (driver) => {
      using model = addModel([1, 2])
      using prepared = await driver.prepare(model)
      using pool = createPool(64)
      const args = { inputs: [pool.slice(0, 8)], outputs: [pool.slice(8, 8)] }
      expect((await thrownBy(() => prepared.runAsync(args, { deadline: 20 }))).status).toBe('MISSED_DEADLINE_TRANSIENT')
      await until(() => waiting !== undefined, 'the driver has the request')
      waiting!()
      await prepared.runAsync(args)
    })
  })
})
