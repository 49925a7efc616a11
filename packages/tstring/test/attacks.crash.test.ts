import { fileURLToPath } from 'node:url'
import { runScript } from '@tenon/core/testing'
import { describe, expect, test } from 'vitest'
import { attacks, prelude } from './attacks.ts'

const cwd = fileURLToPath(new URL('..', import.meta.url))

describe('the process lives, and reads no memory of others, when a user', () => {
  test.concurrent.each(Object.entries(attacks))('%s', { timeout: 190_000 }, async (_, attack) => {
    const source = `${prelude}\nconst prelude = ${JSON.stringify(prelude)}\nawait (async () => {${attack}\n})()\nconsole.log('lives')`
    const { code, signal, timedOut, stdout, stderr } = await runScript(source, {
      cwd,
      nodeOptions: ['--expose-gc', '--no-warnings'],
      timeout: 180_000,
    })
    expect({ code, signal, timedOut, stdout, stderr }).toEqual({
      code: 0,
      signal: null,
      timedOut: false,
      stdout: 'lives\n',
      stderr: '',
    })
  })
})
