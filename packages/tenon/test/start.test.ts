import { runScript } from '@tenon/core/testing'
import { kernelLibrary } from '@tenon/kernels'
import { expect, test } from 'vitest'
import { root } from './reader.ts'

/** Runs a module of the built packages, which calls `loaded()`: the paths of the modules that the process has loaded so far. */
async function run(program: string): Promise<unknown> {
  const hooks = `
const { registerHooks } = await import('node:module')
const urls = []
registerHooks({
  load: (url, context, next) => {
    if (url.startsWith('file:')) urls.push(url.slice(url.indexOf('/packages/') + 10))
    return next(url, context)
  },
})
const loaded = () => urls
`
  const { stdout, stderr } = await runScript(`${hooks}${program}`, { cwd: `${root}/packages/tenon` })
  expect(stderr).toBe('')
  return JSON.parse(stdout)
}

test('import tenon loads few modules, and not those of string tensors', async () => {
  const loaded = (await run(`await import('tenon')\nconsole.log(JSON.stringify(loaded()))`)) as string[]
  expect(loaded).toContain('tenon/dist/index.js')
  expect(loaded.filter((path) => path.startsWith('tstring/'))).toEqual([])
  expect(loaded.length).toBeLessThanOrEqual(31)
})

test('kernels of TensorFlow load the class of string tensors once a result can have strings', async () => {
  const steps = await run(`
const { Library, tensor } = await import('tenon')
const library = Library.open(${JSON.stringify(kernelLibrary('tf_kernels'))})
const isLoaded = () => loaded().some((path) => path.startsWith('tstring/'))
const steps = []
library.kernel('Scale')(tensor([1]))
steps.push(isLoaded())
const same = library.kernel('Same')
same(tensor([1]))
steps.push(isLoaded())
const segment = tensor('u8', [24], Uint8Array.of(1 << 2, 97, ...new Array(22).fill(0))).segment
const result = same({ layout: 'tf', shape: [1], segment })
steps.push(isLoaded(), result.constructor.name, result.toArray())
console.log(JSON.stringify(steps))
`)
  expect(steps).toEqual([false, false, true, 'StringTensor', ['a']])
})

test('a kernel whose results are strings loads the class when it is opened', async () => {
  const steps = await run(`
const { Library } = await import('tenon')
Library.open(${JSON.stringify(kernelLibrary('tf_kernels'))}).kernel('Decorate')
console.log(JSON.stringify(loaded().some((path) => path.startsWith('tstring/'))))
`)
  expect(steps).toBe(true)
})
