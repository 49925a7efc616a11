import { channel } from 'node:diagnostics_channel'
import { expect, onTestFinished, test } from 'vitest'
import { CrashLoopError } from '../src/host/errors.ts'
import { Pool } from '../src/host/pool.ts'
import { checkSettings } from '../src/host/settings.ts'
import type { Worker } from '../src/host/worker.ts'
import { Workers } from '../src/host/workers.ts'
import { failureOf } from './support.ts'

test('workers that cannot be started name the reason, and blame no kernel', async () => {
  // The loader prints the libraries and exits.
  const env = { LD_TRACE_LOADED_OBJECTS: '1' }
  const error = await failureOf(Workers.open({ env, restart: { limit: 0 } }))
  expect(error).toBeInstanceOf(CrashLoopError)
  expect(error.message).toMatch(
    /^the workers cannot be started: a worker could not start, because it ended its process with exit code 0: .*\.so/,
  )
  expect(error.hint).toBe('Read details.output. Then call restart(), or isolate the library again.')
  expect((error.cause as { details: object }).details).toMatchObject({ exitCode: 0, kernel: '' })
})

test('a worker without a filter of system calls is an event, unless there is to be none', () => {
  const seen: unknown[] = []
  const listener = (message: unknown): void => void seen.push(message)
  channel('tenon:isolate:unfiltered').subscribe(listener)
  onTestFinished(() => void channel('tenon:isolate:unfiltered').unsubscribe(listener))
  const worker = { index: 3, process: 42, startedAt: 0 } as Worker
  for (const options of [{}, { sandbox: 'off' }, { host: 'node' }] as const) {
    const pool = new Pool(checkSettings(options))
    pool.ready(worker, true)
    pool.ready(worker, false)
    pool.close()
  }
  expect(seen).toEqual([{ worker: { index: 3, process: 42 } }])
})
