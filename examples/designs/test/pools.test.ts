import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

test.runIf(process.platform === 'linux')('a cache grows in buffers of the driver, and two threads read it', () => {
  const program = fileURLToPath(new URL('../pools/key-value-cache.ts', import.meta.url))
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', program], {
    encoding: 'utf8',
  })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout.trim().split('\n')).toEqual([
    'the cache has the dimensions [ 40, 4 ]',
    'the first reader sees 40 rows, the last is [39,1,0,0], with the score 178',
    'the second reader sees 40 rows, the last is [39,1,0,0], with the score 178',
  ])
})
