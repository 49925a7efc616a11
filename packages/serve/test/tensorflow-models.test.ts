import { kernelLibrary } from '@tenon/kernels'
import { Library } from 'tenon'
import { expect, onTestFinished, test } from 'vitest'
import { defineModel } from '../src/index.ts'
import { input, Served } from './support.ts'

// Workers need Linux.
if (process.platform === 'linux') {
  test("a kernel of TensorFlow's C API takes and returns strings as BYTES", async () => {
    const library = await Library.isolate(kernelLibrary('tf_kernels'))
    onTestFinished(() => library.closeAsync())
    const kernel = library.kernel('Decorate')
    const signature = '(text: string[n]) -> (decorated: string[n])'
    const model = defineModel({
      name: 'decorate',
      kernel,
      signature,
      attributes: { suffix: '?' },
      memory: library.memory,
      maxBatchSize: 4,
    })
    const served = await Served.start([model])
    const [status, json] = await served.infer('decorate', { inputs: [input('text', 'BYTES', [2], ['a', 'ß'])] })
    const outputs = [{ name: 'decorated', datatype: 'BYTES', shape: [2], data: ['a?', 'ß?'] }]
    expect([status, json['outputs']]).toEqual([200, outputs])
  })

  test("a kernel of TensorFlow's C API gets the type of strings or numbers from the signature of the model", async () => {
    const library = await Library.isolate(kernelLibrary('tf_kernels'))
    onTestFinished(() => library.closeAsync())
    const kernel = library.kernel('Same')
    const strings = defineModel({ name: 'strings', kernel, signature: '(x: string[n]) -> (y: string[n])' })
    const numbers = defineModel({ name: 'numbers', kernel, signature: '(x: s32[n]) -> (y: s32[n])' })
    const served = await Served.start([strings, numbers])
    for (const [model, datatype, data] of [
      ['strings', 'BYTES', ['a', 'b']],
      ['numbers', 'INT32', [1, 2]],
    ] as const) {
      const [status, json] = await served.infer(model, { inputs: [input('x', datatype, [2], [...data])] })
      expect([status, json['outputs']]).toEqual([200, [{ name: 'y', datatype, shape: [2], data }]])
    }
  })

  test('a result of another type than that of the signature of the model is an error', async () => {
    const library = await Library.isolate(kernelLibrary('tf_kernels'))
    onTestFinished(() => library.closeAsync())
    const kernel = library.kernel('Same')
    const model = defineModel({ name: 'wrong', kernel, signature: '(x: s32[n]) -> (y: f32[n])' })
    const served = await Served.start([model])
    const [status] = await served.infer('wrong', { inputs: [input('x', 'INT32', [1], [1])] })
    expect(status).toBe(500)
  })
}
