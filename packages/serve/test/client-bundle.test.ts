import { build } from 'esbuild'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { createContext, runInContext } from 'node:vm'
import { expect, test } from 'vitest'
import { double } from './models.ts'
import { Served } from './support.ts'

/** The globals of both browsers and Node.js, which the client may use. */
const web = {
  AbortController,
  AbortSignal,
  clearTimeout,
  fetch,
  setTimeout,
  TextDecoder,
  TextEncoder,
  URL,
}

test('the client needs nothing but what browsers have, and no native code', async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: [join(import.meta.dirname, '../src/client.ts')],
    bundle: true,
    write: false,
    metafile: true,
    minify: true,
    format: 'iife',
    globalName: 'client',
    platform: 'browser',
    conditions: ['@tenon/source'],
  })
  const sources = Object.keys(metafile.inputs)
  expect(sources.filter((path) => path.includes('native') || path.includes('koffi'))).toEqual([])
  const { text } = outputFiles[0]!
  // About as a server sends it to browsers.
  expect(gzipSync(text).length).toBeLessThan(12_288)
  const { server } = await Served.start([double])
  const context = createContext({ ...web, url: `http://127.0.0.1:${server.port}` })
  const program = `${text}
    const { createClient } = client
    createClient(url).infer('double', { x: [[1, 2, 3, 4]] }).then(({ y }) => [...y.data])`
  expect(await runInContext(program, context)).toEqual([2, 4, 6, 8])
})
