import { packageFlags } from '@tenon/config/package-flags'
import { quarantine } from '@tenon/config/sanitizer'
import { runScript } from '@tenon/core/testing'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const TENSORS = 4000

/** The resident bytes of each of many small tensors, made by `code`, in a process of their own. */
async function residentBytes(code: string): Promise<number> {
  const {
    code: exitCode,
    stdout,
    stderr,
  } = await runScript(
    `import { StringTensor } from '@tenon/tstring'
     const words = ['tensor', 'of', 'strings, some longer than a struct holds']
     const make = () => ${code}
     for (let i = 0; i < 300; i++) make()
     gc()
     const before = process.memoryUsage.rss()
     const kept = Array.from({ length: ${TENSORS} }, make)
     console.log((process.memoryUsage.rss() - before) / kept.length)`,
    {
      cwd: fileURLToPath(new URL('..', import.meta.url)),
      nodeOptions: [...packageFlags, '--expose-gc', '--disable-warning=ExperimentalWarning'],
      timeout: 60_000,
    },
  )
  expect(exitCode, stderr).toBe(0)
  return Number(stdout)
}

test.each(['malloc', 'packed'])('small tensors in %s storage need little temporary memory', async (storage) => {
  expect(await residentBytes(`StringTensor.from(words, { storage: '${storage}' })`)).toBeLessThan(
    8192 + quarantine / TENSORS,
  )
})
