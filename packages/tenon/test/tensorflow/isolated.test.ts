import { copyFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { KernelDeadlineError, tensor, type Tensor } from '@tenon/core'
import { kernelLibrary } from '@tenon/kernels'
import { KernelCrashError } from '@tenon/isolate'
import { NativeScope } from '@tenon/scope'
import { TensorFlowError } from '@tenon/tensorflow'
import { StringTensor } from '@tenon/tstring'
import { describe, expect, test } from 'vitest'
import { Library, type IsolatedKernel } from '../../src/index.ts'
import { sidecarPath } from '../../src/signatures/sidecar.ts'
import { errorOf } from '../isolated.ts'
import { compileKernels } from './library.ts'

const texts = ['a', '', 'ß', 'a string that is longer than a struct']
const x = tensor('f32', [2], [1, 2])

type AnyKernel = IsolatedKernel<unknown>
const kernelOf = (library: { kernel(name: string): unknown }, name: string): AnyKernel =>
  library.kernel(name) as AnyKernel

// Workers need Linux.
if (process.platform === 'linux')
  describe("an isolated library with kernels of TensorFlow's C API", () => {
    const path = compileKernels()

    test('has the signatures of its definitions, and runs kernels on numbers', async () => {
      await using library = await Library.isolate(path)
      expect(library.kernels().map(({ name }) => name)).toEqual(['Decorate', 'End', 'Fail', 'Plain', 'Twice', 'Wait'])
      const twice = kernelOf(library, 'Twice')
      expect((twice(x) as Tensor).toArray()).toEqual([2, 4])
      expect(((await twice.async(x)) as Tensor).toArray()).toEqual([2, 4])
    })

    test.each(['arena', 'malloc', 'packed'] as const)(
      'takes strings in %s storage, and returns packed strings',
      async (storage) => {
        await using library = await Library.isolate(path)
        const decorate = kernelOf(library, 'Decorate')
        const words = StringTensor.from(texts, { storage, shape: [2, 2] })
        const made = decorate(words, { suffix: '?' } as never) as StringTensor
        expect(made).toBeInstanceOf(StringTensor)
        expect([made.shape, made.toArray()]).toEqual([[2, 2], texts.map((text) => `${text}?`)])
        expect(() => made.sharedTensor()).not.toThrow()
        const scope = NativeScope.ofConfined()
        const copied = decorate(words, {}, { allocator: scope } as never) as StringTensor
        expect(copied.toArray()).toEqual(texts.map((text) => `${text}!`))
        scope.close()
        expect(() => copied.get(0)).toThrow('closed')
        expect(((await decorate.async(words)) as StringTensor).toArray()).toEqual(texts.map((text) => `${text}!`))
      },
    )

    test('takes packed strings in the memory of the library without a copy', async () => {
      await using library = await Library.isolate(path)
      const words = StringTensor.from(texts).to('tf', { storage: 'packed', allocator: library.memory })
      const made = kernelOf(library, 'Decorate')(words) as StringTensor
      expect(made.toArray()).toEqual(texts.map((text) => `${text}!`))
      expect(library.metrics().copiedBytes).toBe(0)
    })

    test('throws the failure of a kernel', async () => {
      await using library = await Library.isolate(path)
      const error = await errorOf(() => kernelOf(library, 'Fail')(StringTensor.from(texts)))
      expect(error).toBeInstanceOf(TensorFlowError)
      expect(error.message).toContain('no words are left')
      expect(library.metrics().restarts).toBe(0)
    })

    test('survives a kernel that ends its process', async () => {
      await using library = await Library.isolate(path)
      const error = await errorOf(() => kernelOf(library, 'End')(x))
      expect(error).toBeInstanceOf(KernelCrashError)
      expect((kernelOf(library, 'Twice')(x) as Tensor).toArray()).toEqual([2, 4])
    })

    test('ends an asynchronous kernel that never calls done, at its deadline', async () => {
      await using library = await Library.isolate(path)
      const error = await errorOf(() => kernelOf(library, 'Wait').async(x, { deadline: 300 } as never))
      expect(error).toBeInstanceOf(KernelDeadlineError)
      expect((kernelOf(library, 'Twice')(x) as Tensor).toArray()).toEqual([2, 4])
    })

    test('starts one worker to learn what a file registers, and none for a second open', async () => {
      const copy = join(dirname(path), 'libcopy.so')
      copyFileSync(path, copy)
      await using library = await Library.isolate(copy)
      expect(library.kernels().length).toBe(6)
      expect(library.metrics().restarts).toBe(0)
      await using second = await Library.isolate(path)
      expect(second.kernels()).toEqual(library.kernels())
    })

    test('uses the definition of a sidecar, and that of an option before it', async () => {
      const copy = join(dirname(path), 'libsidecar.so')
      copyFileSync(path, copy)
      const definition = { inputs: ['x: float'], outputs: ['y: float'] }
      writeFileSync(sidecarPath(copy), JSON.stringify({ tenon: 1, kernels: { Plain: { definition } } }))
      await using library = await Library.isolate(copy)
      expect(library.kernels().find(({ name }) => name === 'Plain')?.source).toBe('sidecar')
      expect((kernelOf(library, 'Plain')(x) as Tensor).toArray()).toEqual([2, 4])
      const named = library.kernel('Plain', { definition: { ...definition, outputs: ['z: float'] } })
      expect(named.signature.results[0]!.name).toBe('z')
      using inProcess = Library.open(copy)
      expect((inProcess.kernel('Plain')(x) as unknown as Tensor).toArray()).toEqual([2, 4])
    })

    test('refuses a kernel that keeps an operand, and goes on', async () => {
      await using library = await Library.isolate(kernelLibrary('tf_kernels'))
      expect(await errorOf(() => kernelOf(library, 'Keep')(x))).toMatchObject({
        name: 'NativeError',
        message: expect.stringContaining('the worker refused Keep') as string,
      })
      expect((kernelOf(library, 'Scale')(x) as Tensor).toArray()).toEqual([2, 4])
    })
  })
