import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { asScript } from '../src/as-script.ts'

const text = `
  const early = typeof join
  import { join, basename as nameOf } from 'node:path'
  import * as events from "node:events";
  import fs from 'node:fs'
  import {
    parentPort,
  } from 'node:worker_threads'
  parentPort.postMessage([early, join('a', 'b'), nameOf('a/b'), typeof events.once, typeof fs.openSync])
`

test('the text of a module is a script with the same names, which are there from the beginning', async () => {
  const worker = new Worker(asScript(text), { eval: true })
  const found = await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
  expect(found).toEqual(['function', 'a/b', 'b', 'function', 'function'])
})

test('an error of the module ends the worker', async () => {
  const worker = new Worker(asScript(`import { join } from 'node:path'\nthrow new Error(join('a', 'b'))`), {
    eval: true,
  })
  await expect(new Promise((resolve, reject) => worker.once('exit', resolve).once('error', reject))).rejects.toThrow(
    'a/b',
  )
})
