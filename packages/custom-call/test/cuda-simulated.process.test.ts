import { AllocationError, ScopeClosedError, ScopeHeldError, TenonError } from '@tenon/core'
import {
  captureGraph,
  Cuda,
  CudaError,
  CudaOutOfMemoryError,
  pred,
  ResourceExhaustedError,
  s64,
} from '@tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'
import { describe, expect, test } from 'vitest'
import { device, expected, memory, N, numbers, operands, saxpyCall, stream, valuesOf } from './cuda-device.ts'
import { cuda, cudaHandler, driverFunction, isReal, ptx, simulated } from './cuda-fixture.ts'
import { thrownBy } from './kernels.ts'

if (!isReal) {
  describe('the simulated driver', () => {
    test('work in a stream keeps its operands open while JavaScript continues', async () => {
      simulated.hold(true)
      const host = numbers()
      const other = device.allocate(4 * N)
      stream.copy(host, other.segment)
      const { gate } = other
      expect([gate.holds, stream.isIdle]).toStrictEqual([1, false])
      const done = stream.finished()
      simulated.hold(false)
      await done
      expect([gate.holds, stream.isIdle]).toStrictEqual([0, true])
      other.close()
    })

    test('closeAsync() waits without blocking and lets no new work in', async () => {
      simulated.hold(true)
      const other = device.allocate(4 * N)
      stream.fill(other.segment, 0)
      const closed = other.closeAsync()
      expect(other.isAlive).toBe(false)
      expect(() => stream.fill(other.segment, 1)).toThrow(ScopeClosedError)
      await expect(other.closeAsync()).rejects.toThrow(ScopeClosedError)
      simulated.hold(false)
      await closed
      await expect(other.closeAsync()).rejects.toThrow(/closed already/)
      await other[Symbol.asyncDispose]()
    })

    test('disposal while closeAsync() waits closes the resource', async () => {
      simulated.hold(true)
      const other = device.allocate(4 * N)
      stream.fill(other.segment, 0)
      const closed = other.closeAsync()
      expect(other.isAlive).toBe(false)
      simulated.hold(false)
      other[Symbol.dispose]()
      expect(() => other.checkAlive()).toThrow(/closed already/)
      await closed
      expect(other.isAlive).toBe(false)
      other[Symbol.dispose]()
    })

    test('disposal while closeAsync() waits throws ScopeHeldError if a graph holds the memory', async () => {
      using module = device.loadModule(ptx)
      using call = saxpyCall(module.kernel('saxpy'))
      const other = device.allocate(4 * N)
      const out = other.tensor('f32', [N])
      const graph = captureGraph(call, [operands()[0], out], [out])
      const closed = other.closeAsync()
      expect(() => other[Symbol.dispose]()).toThrow(ScopeHeldError)
      await expect(closed).rejects.toThrow(ScopeHeldError)
      expect(other.isAlive).toBe(true)
      await graph.closeAsync()
      other.close()
    })

    test('asynchronous disposal waits for closeAsync(), and closes the resource if it failed', async () => {
      simulated.hold(true)
      const other = device.allocate(4 * N)
      stream.fill(other.segment, 0)
      const hold = other.acquire()
      const closed = other.closeAsync()
      const failed = closed.then(
        () => 'closed',
        () => {
          hold.release()
          return 'failed'
        },
      )
      const disposed = other[Symbol.asyncDispose]()
      simulated.hold(false)
      await disposed
      expect(await failed).toBe('failed')
      expect(() => other.checkAlive()).toThrow(/closed already/)
    })

    test('closeAsync() throws ScopeHeldError while a graph holds the memory, and leaves it open', async () => {
      using module = device.loadModule(ptx)
      using call = saxpyCall(module.kernel('saxpy'))
      const graph = captureGraph(call, [...operands()], [memory.tensor('f32', [N], 4 * N)])
      await expect(memory.closeAsync()).rejects.toThrow(ScopeHeldError)
      graph.launch()
      await graph.closeAsync()
    })

    test('a close action cannot start work on memory that is being closed', () => {
      const other = device.allocate(4 * N)
      let refused: unknown
      other.addCloseAction(() => {
        refused = thrownBy(() => stream.fill(other.segment, 0))
      })
      other.close()
      expect(refused).toBeInstanceOf(ScopeClosedError)
    })

    test('runAsync() resolves when the work in the stream is done', async () => {
      using module = device.loadModule(ptx)
      using call = saxpyCall(module.kernel('saxpy'))
      const [x, y] = operands()
      await stream.finished()
      simulated.hold(true)
      let isOver = false
      const note = async (run: Promise<void>): Promise<void> => {
        await run
        isOver = true
      }
      const run = note(call.runAsync([x, y], [y]))
      await new Promise((resolve) => setTimeout(resolve, 30))
      expect(isOver).toBe(false)
      simulated.hold(false)
      await run
      expect(isOver).toBe(true)
    })

    test('allocate() throws CudaOutOfMemoryError, which is an AllocationError, for too much memory', () => {
      const error = thrownBy(() => device.allocate(2 ** 40))
      expect(error).toBeInstanceOf(CudaOutOfMemoryError)
      expect(error).toBeInstanceOf(AllocationError)
      expect(error).toBeInstanceOf(RangeError)
      expect(error).toMatchObject({ result: 2, resultName: 'CUDA_ERROR_OUT_OF_MEMORY', code: 'TENON_CUDA' })
    })

    test('a handler answers RESOURCE_EXHAUSTED if it gets no memory', async () => {
      const [x, y] = operands()
      using call = cudaHandler('cuda_copy_through_scratch').prepare({
        operands: [x],
        results: [y],
        attrs: { copy: s64(driverFunction('cuMemcpyDtoDAsync_v2')), forget: pred(false) },
        stream,
      })
      simulated.fail('cuMemAllocAsync', 2)
      expect(() => call.run([x], [y])).toThrow(ResourceExhaustedError)
      call.run([x], [y])
      await stream.finished()
    })

    test.each([
      ['cuStreamCreate', (): unknown => device.openStream()],
      ['cuEventCreate', (): unknown => device.openEvent()],
      ['cuMemAlloc', (): unknown => device.allocate(8)],
      ['cuModuleLoadData', (): unknown => device.loadModule(ptx)],
      ['cuMemHostRegister', (): unknown => device.pin(numbers())],
      ['cuDevicePrimaryCtxRetain', (): unknown => cuda.openDevice(0)],
    ])('nothing is left open if %s fails', (name, open) => {
      simulated.fail(name, 801)
      expect(open).toThrow(CudaError)
    })

    test('a failed capture leaves nothing open, and the stream usable', async () => {
      using module = device.loadModule(ptx)
      using call = saxpyCall(module.kernel('saxpy'))
      const [x, y] = operands()
      for (const name of ['cuStreamBeginCapture', 'cuLaunchKernel', 'cuGraphInstantiate']) {
        simulated.fail(name, 1)
        expect(() => captureGraph(call, [x, y], [y]), name).toThrow(TenonError)
        stream.synchronize()
      }
      call.run([x, y], [y])
      expect(await valuesOf(y)).toStrictEqual(expected(1))
    })

    test('the next use of a device throws after a kernel has faulted, and the device is lost', async () => {
      using module = device.loadModule(ptx)
      const kernel = module.kernel('trap')
      await stream.finished()
      stream.launch(kernel, { grid: [1], block: [1] }, [])
      const error = await stream.finished().catch((reason: unknown) => reason)
      expect(error).toBeInstanceOf(CudaError)
      expect(error).toMatchObject({ result: 719, resultName: 'CUDA_ERROR_LAUNCH_FAILED', isFatal: true })
      expect(() => device.allocate(8)).toThrow(/lost to this process/)
      await expect(stream.finished()).rejects.toBe(device.failure)
      expect(() => stream.copy(numbers(), memory.segment)).toThrow(CudaError)
      // The simulated device can be used again in this process.
      simulated.recover()
      device.failure = undefined
    })

    test('finished() rejects when a kernel faults while it waits', async () => {
      using module = device.loadModule(ptx)
      stream.launch(module.kernel('trap'), { grid: [1], block: [1] }, [])
      const [x, y] = [memory.segment.asSlice(0, 16), numbers()]
      const waiting = stream.finished()
      await expect(waiting).rejects.toThrow(/CUDA_ERROR_LAUNCH_FAILED/)
      expect(memory.gate.holds).toBe(0)
      expect(x.byteSize + y.shape.length).toBe(17)
      simulated.recover()
      device.failure = undefined
    })

    test('Cuda.open() throws CudaUnavailableError without a device', () => {
      const library = kernelLibrary('simulated_cuda').replace(/([^/]+)$/, './$1')
      simulated.fail('cuInit', 100)
      expect(() => Cuda.open({ library })).toThrow(/CUDA_ERROR_NO_DEVICE \(100\): no CUDA-capable device is detected/)
      expect(Cuda.open({ library }).deviceCount).toBe(1)
    })
  })
}
