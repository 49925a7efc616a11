import { asScript } from '@tenon/config/as-script'
import { packageFlags, testedDriver } from '@tenon/config/package-flags'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { NativeError } from '@tenon/core'
import { pollReadable } from '@tenon/core/internal'
import { runScript } from '@tenon/core/testing'

const ROUNDS = process.env['TENON_SOAK'] === '1' ? 300 : 20

const directory = mkdtempSync(join(tmpdir(), 'tenon-poll-'))
const pipe = join(directory, 'pipe')
afterAll(() => rmSync(directory, { recursive: true }))

const prelude = `
  import { constants, openSync, readSync, writeSync } from 'node:fs'
  import { pollReadable } from '@tenon/core/internal'
  const pipe = openSync(${JSON.stringify(pipe)}, constants.O_RDWR | constants.O_NONBLOCK)
  const take = () => readSync(pipe, Buffer.alloc(1))
`

const flags = [...packageFlags, '--no-warnings']

/** Runs a module on the main thread, or in a worker. */
function run(thread: string, source: string) {
  const inWorker = `
    import { Worker } from 'node:worker_threads'
    new Worker(${JSON.stringify(asScript(prelude + source))}, { eval: true })
  `
  const options = {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    nodeOptions: flags,
  }
  return runScript(thread === 'worker' ? inWorker : prelude + source, options)
}

// Windows has neither pipes with a path nor watches.
if (process.platform !== 'win32') {
  execFileSync('mkfifo', [pipe])

  describe.each(['main thread', 'worker'])(`a watch of the %s, with the driver ${testedDriver},`, (thread) => {
    const output = async (source: string): Promise<string> => {
      const { code, signal, timedOut, stdout, stderr } = await run(thread, source)
      expect({ code, signal, timedOut, stderr }).toEqual({ code: 0, signal: null, timedOut: false, stderr: '' })
      return stdout
    }

    test('calls for each time that there is something to read, until it is closed', async () => {
      const counted = await output(`
        let count = 0
        const watch = pollReadable(pipe, () => {
          take()
          if (++count === 3) return watch.close()
          writeSync(pipe, 'x')
        })
        watch.ref()
        writeSync(pipe, 'x')
        process.on('exit', () => {
          watch.close()
          console.log(count)
        })
      `)
      expect(counted).toBe('3\n')
    })

    test('keeps the event loop running only after ref()', async () => {
      expect(await output(`const watch = pollReadable(pipe, () => {}); watch.ref(); watch.unref()`)).toBe('')
    })

    test('runs the reactions of promises', async () => {
      const settled = await output(`
        writeSync(pipe, 'x')
        let watch
        await new Promise((resolve) => {
          watch = pollReadable(pipe, resolve)
          watch.ref()
        })
        take()
        watch.close()
        console.log('settled')
      `)
      expect(settled).toBe('settled\n')
    })

    test('reports what the function throws as an uncaught exception', async () => {
      const caught = await output(`
        writeSync(pipe, 'x')
        const watch = pollReadable(pipe, () => { throw new Error('mine') })
        watch.ref()
        process.on('uncaughtException', ({ message }) => {
          take()
          watch.close()
          console.log(message)
        })
      `)
      expect(caught).toBe('mine\n')
    })
  })

  test('a descriptor that cannot be watched is refused', () => {
    expect(() => pollReadable(-1, () => {})).toThrow(NativeError)
  })

  test(`a worker can be terminated while it watches (${testedDriver})`, { timeout: 120_000 }, async () => {
    const { code, signal, stdout, stderr } = await runScript(
      `
        import { once } from 'node:events'
        import { setTimeout } from 'node:timers/promises'
        import { Worker } from 'node:worker_threads'
        const source = ${JSON.stringify(
          asScript(`${prelude}
          import { parentPort } from 'node:worker_threads'
          writeSync(pipe, 'x')
          pollReadable(pipe, () => {}).ref()
          setInterval(() => pollReadable(openSync(${JSON.stringify(pipe)}, 'r+'), () => {}).close(), 1)
          parentPort.postMessage('running')
        `),
        )}
        for (let i = 0; i < ${ROUNDS}; i++) {
          const worker = new Worker(source, { eval: true })
          await once(worker, 'message')
          await setTimeout(Math.random() * 20)
          await worker.terminate()
        }
        console.log('all ended')
      `,
      { cwd: fileURLToPath(new URL('..', import.meta.url)), timeout: 110_000 },
    )
    expect({ code, signal, stdout, stderr }).toEqual({ code: 0, signal: null, stdout: 'all ended\n', stderr: '' })
  })
}
