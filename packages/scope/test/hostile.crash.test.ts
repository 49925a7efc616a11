import { packageFlags } from '@tenon/config/package-flags'
import { runScript } from '@tenon/core/testing'
import { describe, expect, test } from 'vitest'
import { groups, leaving, prelude, type Attempt } from './support/hostile.ts'
import { packageDirectory } from './support/worker.ts'

/** Runs attempts in one process. The last name in the output is that of the attempt that ended the process. */
async function outcomes(attempts: Readonly<Record<string, Attempt>>): Promise<unknown> {
  const runs = Object.entries(attempts).map(
    ([name, { code }]) => `begin(${JSON.stringify(name)}); await (async () => {${code}\n})()`,
  )
  const { code, signal, timedOut, stdout, stderr } = await runScript(
    `${prelude}\n${runs.join('\n')}\nconsole.log('# end')`,
    {
      cwd: packageDirectory,
      nodeOptions: [...packageFlags, '--expose-gc', '--no-warnings'],
      timeout: 40_000,
    },
  )
  const parts = stdout.split(/^# /m).slice(1)
  const results = Object.fromEntries(
    parts.map((part) => part.trim().split('\n')).map(([name, ...lines]) => [name, lines.join(', ')]),
  )
  return { code, signal, timedOut, results, stderr }
}

const expected = (attempts: Readonly<Record<string, Attempt>>, isEnd: boolean): unknown => ({
  code: 0,
  signal: null,
  timedOut: false,
  results: {
    ...Object.fromEntries(Object.entries(attempts).map(([name, { outcome }]) => [name, outcome])),
    ...(isEnd ? { end: '' } : {}),
  },
  stderr: '',
})

if (process.platform !== 'win32') {
  describe('no attempt ends the process or hangs', () => {
    test.concurrent.each(Object.entries(groups))('%s', { timeout: 50_000 }, async (_, attempts) => {
      expect(await outcomes(attempts)).toEqual(expected(attempts, true))
    })

    test.concurrent.each(Object.entries(leaving))(
      'the process ends as it should when it %s',
      { timeout: 50_000 },
      async (name, attempt) => {
        expect(await outcomes({ [name]: attempt })).toEqual(expected({ [name]: attempt }, false))
      },
    )
  })
}
