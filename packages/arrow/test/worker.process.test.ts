import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { packageFlags } from '@tenon/config/package-flags'
import { counts, peer, peerPath } from './peer.ts'

test('an export of a worker outlives it, and what the worker has imported is released at its end', async () => {
  const before = counts()
  const worker = new Worker(new URL('./fixtures/arrow-worker.js', import.meta.url), {
    workerData: peerPath,
    execArgv: [...packageFlags],
  })
  const [text] = await once(worker, 'message')
  expect(text).toBe('ArrowBatch of 4 rows ["x" l]')
  expect(counts()).toEqual({ ...before, schemas: before.schemas + 1 })
  await worker.terminate()
  expect(counts().arrays).toBe(before.arrays + 1)
  // The memory of the worker is gone, and the export has a copy.
  expect(peer.sumTaken()).toBe(6n)
  peer.releaseTaken()
})
