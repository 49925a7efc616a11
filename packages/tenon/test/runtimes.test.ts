import { findRuntime, runInRuntime, testedRuntimes, testedVersion } from '@tenon/config/runtimes'
import { kernelLibrary } from '@tenon/kernels'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const cwd = join(import.meta.dirname, '..')
const names = { bun: 'Bun', deno: 'Deno' } as const
const page = readFileSync(join(cwd, '../../docs/runtimes.md'), 'utf8')

test('the page about runtimes names the versions that are tested', () => {
  for (const runtime of testedRuntimes) expect(page).toContain(`${names[runtime]} ${testedVersion(runtime)}`)
})

for (const runtime of testedRuntimes) {
  const path = findRuntime(runtime)
  if (path === undefined) continue

  // A program that hangs is killed after five minutes.
  describe(`in ${names[runtime]}`, { timeout: 310_000 }, () => {
    /** Runs a module, which must end by itself and write nothing to stderr. Returns its output. */
    const output = async (source: string): Promise<string> => {
      const { code, signal, stdout, stderr } = await runInRuntime(runtime, path, source, cwd)
      expect({ code, signal, stderr }).toEqual({ code: 0, signal: null, stderr: '' })
      return stdout.trim()
    }

    test('driverInfo() and the command name the runtime, its version, and what is missing', async () => {
      const version = testedVersion(runtime)
      const info = await output(`
        import { driverInfo } from 'tenon/core'
        console.log(JSON.stringify(driverInfo().runtime))
      `)
      const missing =
        runtime === 'bun'
          ? ['makes no buffer larger than 4 GiB', 'does not run koffi', 'does not connect to drivers of models']
          : []
      expect(JSON.parse(info)).toEqual({ name: names[runtime], version, missing })
      const command = [...(runtime === 'deno' ? ['run', '--allow-all'] : []), join(cwd, 'dist/cli.cjs'), 'doctor']
      const printed = execFileSync(path, command, { encoding: 'utf8' })
      expect(printed).toContain(`${names[runtime]} `)
      expect(printed).toContain(`${version} (${path})`)
      const glibc = execFileSync('getconf', ['GNU_LIBC_VERSION'], { encoding: 'utf8' }).trim()
      expect(printed).toContain(`linux x64, ${runtime === 'deno' ? 'glibc (unknown version)' : glibc}\n`)
    })

    test('a watch of a descriptor calls for each time that there is something to read, and keeps nothing running after its end', async () => {
      const counted = await output(`
        import { execFileSync } from 'node:child_process'
        import { constants, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
        import { tmpdir } from 'node:os'
        import { join } from 'node:path'
        import { pollReadable } from '@tenon/core/internal'
        const directory = mkdtempSync(join(tmpdir(), 'tenon-watch-'))
        execFileSync('mkfifo', [join(directory, 'pipe')])
        const pipe = openSync(join(directory, 'pipe'), constants.O_RDWR | constants.O_NONBLOCK)
        rmSync(directory, { recursive: true })
        let count = 0
        const watch = pollReadable(pipe, () => {
          readSync(pipe, Buffer.alloc(1))
          if (++count === 3) watch.close()
          else writeSync(pipe, 'x')
        })
        watch.ref()
        const other = pollReadable(pipe, () => {})
        other.ref()
        other.unref()
        writeSync(pipe, 'x')
        process.on('exit', () => console.log(count))
      `)
      expect(counted).toBe('3')
    })

    test('a worker can be terminated while it watches descriptors', async () => {
      const ended = await output(`
        import { once } from 'node:events'
        import { Worker } from 'node:worker_threads'
        import { pathToFileURL } from 'node:url'
        const source = "const { pollReadable } = await import('" + import.meta.resolve('@tenon/core/internal') + "');" +
          "const { parentPort } = await import('node:worker_threads'); pollReadable(1, () => {}).ref(); parentPort.postMessage(1)"
        for (let i = 0; i < 20; i++) {
          const worker = new Worker(new URL('data:text/javascript,' + encodeURIComponent(source)))
          await once(worker, 'message')
          await worker.terminate()
        }
        console.log('ended')
      `)
      expect(ended).toBe('ended')
    })

    test('a worker can be terminated while it makes calls, and while functions of TypeScript run for them', async () => {
      const ended = await output(`
        import { once } from 'node:events'
        import { setTimeout } from 'node:timers/promises'
        import { Worker } from 'node:worker_threads'
        const urls = ['tenon/core', 'tenon/scope', 'tenon/scope/linker'].map((name) => import.meta.resolve(name))
        const source = \`
          const [{ gcAllocator }, { ResourceScope }, { Linker, SymbolLookup, upcallStub }] = await Promise.all(
            \${JSON.stringify(urls)}.map((url) => import(url)),
          )
          const { parentPort } = await import('node:worker_threads')
          const types = { parameters: ['pointer', 'uint64', 'uint64', 'pointer'] }
          const qsort = Linker.downcall(SymbolLookup.ofProcess().get('qsort'), types)
          const scope = ResourceScope.ofConfined()
          const compare = upcallStub(() => 0, { result: 'int32', parameters: ['pointer', 'pointer'] }, scope)
          const memory = gcAllocator.allocate(4096)
          parentPort.postMessage('running')
          for (;;) {
            qsort(memory, 100, 4, compare)
            await Promise.all(Array.from({ length: 10 }, () => qsort.async(memory, 10, 4, compare)))
          }
        \`
        for (let i = 0; i < 60; i++) {
          const worker = new Worker(new URL('data:text/javascript,' + encodeURIComponent(source)))
          await once(worker, 'message')
          await setTimeout(Math.random() * 20)
          await worker.terminate()
        }
        console.log('ended')
      `)
      expect(ended).toBe('ended')
    })

    test('memory of every size has the alignment that was asked for', async () => {
      const wrong = await output(`
        import { gcAllocator } from 'tenon/core'
        import { NativeScope } from 'tenon/scope'
        const kept = [], wrong = new Set()
        for (let round = 0; round < 200; round++) {
          const scope = NativeScope.ofConfined()
          for (const size of [1, 4, 5, 8, 24, 1000, 5000]) for (const alignment of [1, 8, 16, 64]) {
            for (const segment of [scope.allocate(size, alignment), gcAllocator.allocate(size, alignment)]) {
              kept.push(segment.view())
              if (segment.address % BigInt(alignment) !== 0n) wrong.add(alignment)
            }
          }
          scope.close()
        }
        console.log([...wrong].join() || 'none')
      `)
      expect(wrong).toBe('none')
    })

    test('fill() and mismatch() find their place in memory above 4 GiB', async () => {
      // Bun makes no such buffer.
      const size = runtime === 'bun' ? 2 ** 31 + 4096 : 2 ** 32 + 4096
      const found = await output(`
        import { MemorySegment } from 'tenon/scope'
        const memory = MemorySegment.ofBuffer(new ArrayBuffer(${size}))
        const [near, far] = [memory.asSlice(0, 64), memory.asSlice(${size - 128}, 64)]
        far.fill(7)
        const other = MemorySegment.ofBuffer(new ArrayBuffer(32)).fill(7)
        console.log(near.getUint8(0), far.getUint8(0), far.getUint8(63), far.mismatch(other), other.mismatch(far), near.mismatch(far))
      `)
      expect(found).toBe('0 7 7 32 32 0')
    })

    test('an asynchronous call rejects for a wrong argument, and its callbacks have the stores of its caller', async () => {
      const seen = await output(`
        import { AsyncLocalStorage } from 'node:async_hooks'
        import { gcAllocator } from 'tenon/core'
        import { ResourceScope } from 'tenon/scope'
        import { Linker, SymbolLookup, upcallStub } from 'tenon/scope/linker'
        const store = new AsyncLocalStorage(), seen = new Set()
        const types = { parameters: ['pointer', 'uint64', 'uint64', 'pointer'] }
        const qsort = Linker.downcall(SymbolLookup.ofProcess().get('qsort'), types)
        const compare = upcallStub(() => {
          seen.add(store.getStore())
          return 0
        }, { result: 'int32', parameters: ['pointer', 'pointer'] }, ResourceScope.ofConfined())
        const memory = gcAllocator.allocate(16)
        await Promise.all([1, 2, 3].map((i) => store.run(i, () => qsort.async(memory, 4, 4, compare))))
        console.log([...seen].toSorted().join(), await qsort.async(1).catch(({ name }) => name))
      `)
      expect(seen).toBe('1,2,3 ArgumentError')
    })

    test('a library in another process answers, and its crash is an error', async () => {
      const answers = await output(`
        import { Library, tensor } from 'tenon'
        const library = await Library.isolate(${JSON.stringify(kernelLibrary('softmax'))}, { workers: 1 })
        const softmax = library.kernel('softmax')
        const x = tensor([[1, 2, 3]])
        const both = [softmax(x, { temperature: 2 }), await softmax.async(x, { temperature: 2 })]
        await library.closeAsync()
        console.log(both.map((y) => y.toArray().map((value) => value.toFixed(3))).join(' '))
      `)
      expect(answers).toBe('0.186,0.307,0.506 0.186,0.307,0.506')
    })

    test('a driver in another process answers, or is refused where its answers would not arrive', async () => {
      const opened = await output(`
        import { spawnDriver } from 'tenon/nnapi'
        const driver = await spawnDriver().catch(({ name }) => name)
        console.log(typeof driver === 'string' ? driver : 'opened')
        await driver.closeAsync?.()
      `)
      expect(opened).toBe(runtime === 'bun' ? 'UnsupportedError' : 'opened')
    })

    test('the same file with another query is another module, for a path and, but for Bun, for a URL', async () => {
      const kinds = await output(`
        import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
        import { tmpdir } from 'node:os'
        import { join } from 'node:path'
        import { pathToFileURL } from 'node:url'
        const directory = mkdtempSync(join(tmpdir(), 'tenon-query-'))
        const path = join(directory, 'module.mjs')
        writeFileSync(path, 'export const state = {}')
        const isOther = async (name) => (await import(name)).state !== (await import(name + '?isolated')).state
        console.log(await isOther(path), await isOther(pathToFileURL(path).href))
        rmSync(directory, { recursive: true })
      `)
      expect(kinds).toBe(`true ${runtime !== 'bun'}`)
    })

    if (runtime === 'deno')
      test('terminate() resolves at once, and does not end a worker that runs JavaScript', async () => {
        const seen = await output(`
          import { Worker } from 'node:worker_threads'
          import { setTimeout } from 'node:timers/promises'
          const count = new Int32Array(new SharedArrayBuffer(4))
          const source = 'const { workerData } = require("node:worker_threads"); for (;;) Atomics.add(workerData, 0, 1)'
          const worker = new Worker(source, { eval: true, workerData: count })
          while (Atomics.load(count, 0) === 0) await setTimeout(1)
          await worker.terminate()
          const atEnd = Atomics.load(count, 0)
          await setTimeout(500)
          console.log(Atomics.load(count, 0) > atEnd)
          process.exit()
        `)
        expect(seen).toBe('true')
      })

    /** Returns the kilobytes that each of 16 workers leaves, which run a module, say that they run, and are terminated. */
    const leftByWorker = async (makeUrl: string): Promise<number> => {
      const left = await output(`
        import { once } from 'node:events'
        import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
        import { tmpdir } from 'node:os'
        import { join } from 'node:path'
        import { pathToFileURL } from 'node:url'
        import { setTimeout } from 'node:timers/promises'
        import { Worker } from 'node:worker_threads'
        const url = (${makeUrl})()
        const resident = async () => {
          globalThis.gc?.()
          await setTimeout(100)
          return Number(/^RssAnon:\\s+(\\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))[1])
        }
        let before = 0
        for (let i = 0; i < 24; i++) {
          if (i === 8) before = await resident()
          const worker = new Worker(url)
          await once(worker, 'message')
          await worker.terminate()
        }
        console.log((await resident() - before) / 16)
      `)
      return Number(left)
    }

    test('a terminated worker that has called native functions leaves no memory', async () => {
      const left = await leftByWorker(`() => {
        const [core, scope] = ['tenon/core', 'tenon/scope/linker'].map((name) => import.meta.resolve(name))
        const source = \`
          import { parentPort } from 'node:worker_threads'
          import { gcAllocator } from '\${core}'
          import { Linker, SymbolLookup } from '\${scope}'
          const types = { result: 'uint64', parameters: ['pointer'] }
          const strlen = Linker.downcall(SymbolLookup.ofProcess().get('strlen'), types)
          const memory = gcAllocator.allocate(64)
          parentPort.on('message', () => {})
          strlen.async(memory).then(() => parentPort.postMessage('running'))
        \`
        return new URL('data:text/javascript,' + encodeURIComponent(source))
      }`)
      expect(left).toBeLessThan(300)
    })

    if (runtime === 'deno')
      test('a worker without Tenon that is terminated during a top-level await leaves the size of its modules', async () => {
        const left = await leftByWorker(`() => {
          const directory = mkdtempSync(join(tmpdir(), 'tenon-modules-'))
          process.on('exit', () => rmSync(directory, { recursive: true }))
          const names = Array.from({ length: 16 }, (_, i) => 'part-' + i + '.mjs')
          const lines = Array.from({ length: 1000 }, (_, i) => 'export function part' + i + '(a, b) { return a + b * ' + i + ' }')
          for (const name of names) writeFileSync(join(directory, name), lines.join('\\n') + '// ' + name)
          const imports = names.map((name) => "import './" + name + "'")
          const rest = "import { parentPort } from 'node:worker_threads'; parentPort.postMessage(1); await new Promise(() => {})"
          writeFileSync(join(directory, 'main.mjs'), [...imports, rest].join('\\n'))
          return pathToFileURL(join(directory, 'main.mjs'))
        }`)
        // The modules have 900 KiB.
        expect(left).toBeGreaterThan(500)
      })
  })
}
