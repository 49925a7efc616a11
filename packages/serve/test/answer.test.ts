import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { sendAnswer } from '../src/http/answer.ts'
import { Exchange } from '../src/http/exchange.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

const KIB = 1024

/** Sends an answer to a client that takes its bytes when `take` is called. */
async function sendTo(size: number, timeout: number): Promise<{ response: ServerResponse; take(): void }> {
  let take = (): void => {}
  const client = new Duplex({
    read: () => {},
    write: (_chunk, _encoding, taken) => void (take = () => taken()),
  })
  // The timeout without a byte, which is not that of these tests.
  Object.assign(client, { setTimeout: () => client })
  const request = new IncomingMessage(new Socket())
  const response = new ServerResponse(request)
  response.assignSocket(client as Socket)
  const binary = [new Uint8Array(size)]
  sendAnswer(new Exchange(request, response), { status: 200, text: '{}', binary }, timeout)
  // The limits begin when the system had time to take what is written.
  await new Promise((resolve) => setImmediate(resolve))
  return { response, take: () => take() }
}

test('a client must read 64 KiB of an answer in a second on average, beyond the timeout', async () => {
  const { response } = await sendTo(640 * KIB, 1000)
  vi.advanceTimersByTime(1000 + 10_000)
  expect(response.destroyed).toBe(false)
  vi.advanceTimersByTime(1000)
  expect(response.destroyed).toBe(true)
})

test('nothing ends an answer that was read', async () => {
  const { response, take } = await sendTo(640 * KIB, 1000)
  while (!response.writableFinished) {
    take()
    await new Promise((resolve) => setImmediate(resolve))
  }
  // As a server of Node.js does.
  response.emit('close')
  expect(vi.getTimerCount()).toBe(0)
})
