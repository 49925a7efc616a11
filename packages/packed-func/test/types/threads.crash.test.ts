import { packageEntry, packageFlags } from '@tenon/config/package-flags'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { runScript } from '@tenon/core/testing'
import { kernelLibrary } from '@tenon/kernels'

const root = fileURLToPath(new URL('../..', import.meta.url))
const entry = JSON.stringify(packageEntry(new URL('../..', import.meta.url)))
const library = JSON.stringify(kernelLibrary('packed_objects'))

/** Runs a program in a new process, with the classes of the fixture. */
async function outputOf(body: string): Promise<string> {
  const source = `import { Worker } from 'node:worker_threads'
     const setup = \`const p = await import(${entry})
       p.Module.open(${library.replaceAll('\\', '\\\\')})
       const { Point, Record, Node, Custom } = p.types('fixture')\`
     const run = (body) => new Worker(new URL('data:text/javascript,' + encodeURIComponent(setup + ';' +
       'const { parentPort } = await import("node:worker_threads");' + body)))
     const p = await import(${entry})
     p.Module.open(${library})
     const { Point, Record, Node, Custom } = p.types('fixture')
     ${body}`
  const nodeOptions = [...packageFlags, '--no-warnings', '--expose-gc']
  const { code, signal, stdout, stderr } = await runScript(source, { cwd: root, nodeOptions })
  expect({ code, signal, stderr }).toEqual({ code: 0, signal: null, stderr: '' })
  return stdout.trim()
}

it('each thread has classes of its own', async () => {
  const output = await outputOf(
    `class Mine extends Point {}
     p.registerClass('fixture.Point', Mine)
     const results = await Promise.all(Array.from({ length: 4 }, (_, i) => new Promise((resolve) => {
       const worker = run(\`
         class Own extends Point { twice() { return 2 * this.x } }
         p.registerClass('fixture.Point', Own)
         let sum = 0
         for (let i = 0; i < 3000; i++) { const point = Point.fromNumber(i); sum += point.twice(); point.close() }
         parentPort.postMessage([sum, Point.fromNumber(1).constructor.name])\`)
       worker.on('message', (result) => worker.terminate().then(() => resolve(result)))
     })))
     console.log(JSON.stringify(results), Point.fromNumber(1).constructor.name)`,
  )
  expect(output).toBe(`${JSON.stringify(Array.from({ length: 4 }, () => [8_997_000, 'Own']))} Mine`)
})

it('a type that grows in one thread grows in others', async () => {
  expect(
    await outputOf(
      `const object = p.getGlobal('fixture.make')(6)
       await new Promise((resolve) => run("p.getGlobal('fixture.grow')(); parentPort.postMessage(p.objectClass('fixture.Growing').name)").on('message', resolve))
       console.log(object.lateField0)
       p.objectClass('fixture.Growing')
       console.log(object.lateField0)`,
    ),
  ).toBe('undefined\n0')
})

it('inspect and toString() of deeply nested objects end', async () => {
  expect(
    await outputOf(
      `const { inspect } = await import('node:util')
       let chain = new Node(0, null)
       for (let i = 0; i < 3000; i++) chain = new Node(i, chain)
       console.log(typeof inspect(chain, { depth: null }), typeof inspect(chain))
       try { console.log(typeof String(chain)) } catch (error) { console.log(error.constructor.name) }
       let custom = new Custom(0, null)
       for (let i = 0; i < 500; i++) custom = new Custom(i, custom)
       try { console.log(typeof String(custom)) } catch (error) { console.log('error') }
       console.log(String(new Custom(1, 'after')), inspect(new Point(1)))`,
    ),
  ).toMatch(/^string string\n(string|\w+)\n(string|error)\n<custom "after"> Point \{ x: 1, y: 0.5 \}$/)
})
