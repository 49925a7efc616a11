import { expect, test } from 'vitest'
import { runScript } from '@tenon/core/testing'

test('a script that ends tells its exit code and what it printed', async () => {
  const result = await runScript(`console.log(process.env.MINE); console.error('b'); process.exitCode = 3`, {
    env: { MINE: 'a' },
  })
  expect(result).toEqual({ code: 3, signal: null, timedOut: false, stdout: 'a\n', stderr: 'b\n' })
})

test('a script that crashes tells its signal', async () => {
  expect(await runScript(`process.kill(process.pid, 'SIGSEGV'); setInterval(() => {}, 1000)`)).toMatchObject({
    code: null,
    signal: 'SIGSEGV',
    timedOut: false,
  })
})

test('a script that hangs is killed, and what it has started does not keep the test waiting', async () => {
  const { stdout, signal, timedOut } = await runScript(
    `
      import { spawn } from 'node:child_process'
      const { pid } = spawn('sleep', ['60'], { stdio: 'inherit' })
      console.log(pid)
      setInterval(() => {}, 1000)
    `,
    { timeout: 1000 },
  )
  process.kill(Number(stdout)) // it is still there: nobody waited for its end
  expect([signal, timedOut]).toEqual(['SIGKILL', true])
})
