import { inspect } from 'node:util'
import { ArgumentError, BoundsError, ReadOnlyError, ScopeClosedError, ScopeHeldError, tensor } from '@tenon/core'
import {
  ApiVersion,
  batch,
  captureGraph,
  Cuda,
  CudaError,
  CudaUnavailableError,
  deviceFunction,
  f32,
  pred,
  s64,
  typedHandler,
  u32,
} from '@tenon/custom-call'
import { describe, expect, test } from 'vitest'
import { device, expected, memory, N, numbers, ones, operands, saxpyCall, stream, valuesOf } from './cuda-device.ts'
import { cuda, cudaHandler, driverFunction, handlers, isInstalled, isReal, ptx } from './cuda-fixture.ts'
import { kernels, thrownBy } from './kernels.ts'

const driver = isReal ? 'the real driver' : 'the simulated driver'

describe('without CUDA', () => {
  test("the error quotes the loader's reason", () => {
    const error = thrownBy(() => Cuda.open({ library: 'libnot-a-driver.so.1' }))
    expect(error).toBeInstanceOf(CudaUnavailableError)
    expect((error as CudaUnavailableError).code).toBe('TENON_CUDA_UNAVAILABLE')
    expect((error as CudaUnavailableError).message).toMatch(/libnot-a-driver\.so\.1: cannot open shared object file/)
  })

  test('a library other than the driver is refused with the function that it does not export', () => {
    expect(() => Cuda.open({ library: handlers.path })).toThrow(/does not export a symbol named "cuInit"/)
    expect(thrownBy(() => Cuda.open({ library: handlers.path }))).toBeInstanceOf(CudaUnavailableError)
  })

  if (!isReal && !isInstalled) {
    test("NVIDIA's driver is the default", () => {
      expect(() => Cuda.open()).toThrow(/libcuda\.so\.1/)
    })
  }
})

describe(`a device of ${driver}`, () => {
  test('has a name, a capability and memory', () => {
    expect(cuda.version).toMatch(/^\d+\.\d+$/)
    expect(cuda.deviceCount).toBeGreaterThan(0)
    expect(device.name).not.toBe('')
    expect(device.computeCapability).toMatch(/^\d+\.\d+$/)
    const { free, total } = device.memoryInfo
    expect(free).toBeLessThanOrEqual(total)
    expect(() => cuda.openDevice(cuda.deviceCount)).toThrow(/ordinal must be below/)
    expect(() => cuda.openDevice(-1)).toThrow(ArgumentError)
  })

  test('prints as one line', () => {
    using event = device.openEvent()
    using module = device.loadModule(ptx)
    using pinned = device.pin(numbers())
    const texts = [cuda, device, stream, memory, event, module, pinned].map((object) => inspect(object))
    expect(texts).toEqual([
      `Cuda ${cuda.version} (${cuda.path})`,
      `CudaDevice 0 (${device.name})`,
      'CudaStream on CUDA device 0',
      `DeviceMemory of ${8 * N} bytes on CUDA device 0`,
      'CudaEvent on CUDA device 0',
      'CudaModule on CUDA device 0',
      `PinnedMemory of ${4 * N} bytes on CUDA device 0`,
    ])
    const other = device.openEvent()
    other.close()
    expect(inspect(other)).toBe('CudaEvent on CUDA device 0 (closed)')
    expect(inspect(module.kernel('saxpy'))).toBe('CudaKernel saxpy of CudaModule on CUDA device 0')
  })

  test('refuses options that do not exist', () => {
    expect(() => Cuda.open({ libary: cuda.path } as never)).toThrow(/Did you mean library/)
    using module = device.loadModule(ptx)
    const options = { grid: [1], block: [1], sharedByte: 0 }
    expect(() => stream.launch(module.kernel('trap'), options as never, [])).toThrow(/Did you mean sharedBytes/)
  })

  test('close() throws ScopeHeldError while something is open on it', () => {
    const other = cuda.openDevice(0)
    const event = other.openEvent()
    expect(() => other.close()).toThrow(ScopeHeldError)
    event.close()
    other.close()
    expect(() => other.openStream()).toThrow(ScopeClosedError)
  })
})

describe(`memory of ${driver}`, () => {
  test('is copied from and to the host, and within the device', async () => {
    const [x, y] = operands()
    expect(await valuesOf(y)).toStrictEqual(new Float32Array(N).fill(1))
    stream.copy(x, y)
    expect((await valuesOf(y))[999]).toBe(999)
    stream.fill(y, 0)
    expect(await valuesOf(y)).toStrictEqual(new Float32Array(N))
  })

  test('cannot be read from the host', () => {
    const x = memory.tensor('f32', [N])
    expect(() => memory.segment.view()).toThrow(/cannot be read or written by the CPU/)
    expect(() => x.view()).toThrow(ArgumentError)
    expect(() => x.toArray()).toThrow(/must be on the CPU/)
    expect(() => tensor('f32', [N], memory.segment)).toThrow(/cannot be on the CPU/)
    expect(() => tensor('f32', [N], memory.segment.asSlice(4))).toThrow(/cannot be on the CPU/)
    expect(String(x)).toContain('float32')
  })

  test('is checked before it is copied or filled', () => {
    expect(() => device.allocate(0)).toThrow(/at least 1/)
    expect(() => device.allocate(NaN)).toThrow(ArgumentError)
    expect(() => memory.tensor('f32', [N], 4 * N + 4)).toThrow(BoundsError)
    expect(() => stream.copy(ones(), ones())).toThrow(/two segments of the host/)
    expect(() => stream.copy(memory.segment, ones())).toThrow(BoundsError)
    expect(() => stream.copy(3 as never, memory.segment)).toThrow(/from must be a tensor or segment/)
    expect(() => stream.fill(memory.segment, 256)).toThrow(/0 to 255/)
    expect(() => stream.fill(ones(), 1)).toThrow(/to must be device memory/)
    const readOnly = new (ones().segment.constructor as never as new (...parts: unknown[]) => never)(
      ones().segment.block,
      0,
      4 * N,
      1,
    )
    expect(() => stream.copy(memory.segment.asSlice(0, 4 * N), readOnly)).toThrow(ReadOnlyError)
    const onDevice = tensor('f32', [N], readOnly, { device: { type: 2, id: 0 } })
    expect(() => stream.fill(onDevice, 0)).toThrow(ReadOnlyError)
  })

  test('is freed once, and refused afterwards', () => {
    const other = device.allocate(16)
    const x = other.tensor('f32', [4])
    other.close()
    expect(() => other.close()).toThrow(ScopeClosedError)
    expect(() => stream.copy(x, memory.segment)).toThrow(ScopeClosedError)
    expect(() => stream.copy(memory.segment.asSlice(0, 16), x)).toThrow(ScopeClosedError)
  })

  test('stays pinned while a copy uses it', async () => {
    const host = numbers()
    const pinned = device.pin(host)
    expect(() => device.pin(host)).toThrow(CudaError)
    expect(() => device.pin(memory.segment)).toThrow(/only host memory can be pinned/)
    stream.copy(host, memory.segment)
    await stream.finished()
    pinned.close()
    expect((await valuesOf(memory.tensor('f32', [N])))[7]).toBe(7)
  })
})

describe(`streams and events of ${driver}`, () => {
  test('report whether and when work is done', async () => {
    using first = device.openEvent()
    using second = device.openEvent()
    first.record(stream)
    operands()
    second.record(stream)
    await stream.finished()
    expect(stream.isIdle).toBe(true)
    expect(first.isDone && second.isDone).toBe(true)
    expect(second.millisecondsSince(first)).toBeGreaterThanOrEqual(0)
    second.synchronize()
  })

  test('wait for work of another stream', async () => {
    using event = device.openEvent()
    using other = device.openStream()
    stream.copy(numbers(), memory.tensor('f32', [N]))
    event.record(stream)
    other.waitFor(event)
    const host = tensor('f32', [N])
    other.copy(memory.tensor('f32', [N]), host)
    await other.finished()
    expect(host.toArray()[999]).toBe(999)
    await stream.finished()
  })

  test('refuse objects of another class', () => {
    using event = device.openEvent()
    expect(() => event.record(5 as never)).toThrow(/stream must be a CudaStream, got 5/)
    expect(() => event.millisecondsSince({} as never)).toThrow(/earlier must be a CudaEvent/)
    expect(() => stream.waitFor({} as never)).toThrow(/event must be a CudaEvent/)
  })

  test('throw CudaError for the time of an event that was never recorded', () => {
    using event = device.openEvent()
    expect(event.isDone).toBe(true)
    expect(() => event.millisecondsSince(event)).toThrow(CudaError)
  })

  test('wait for their work when they are closed', () => {
    operands()
    stream.close()
    expect(() => stream.synchronize()).toThrow(ScopeClosedError)
    memory.close()
  })
})

describe(`kernels of ${driver}`, () => {
  test('are launched with their parameters', async () => {
    using module = device.loadModule(ptx)
    const [x, y] = operands()
    const kernel = module.kernel('saxpy')
    stream.launch(kernel, { grid: [4], block: [256] }, [f32(2), x, y, u32(N)])
    expect(await valuesOf(y)).toStrictEqual(expected(1))
  })

  test('are refused with an invalid image, size or parameter', () => {
    expect(() => device.loadModule('no PTX')).toThrow(CudaError)
    expect(() => device.loadModule('')).toThrow(ArgumentError)
    using module = device.loadModule(ptx)
    expect(() => module.kernel('missing')).toThrow(/CUDA_ERROR_NOT_FOUND/)
    const kernel = module.kernel('saxpy')
    const launch = (options: object, parameters: unknown): unknown =>
      thrownBy(() => stream.launch(kernel, options as never, parameters as never))
    expect(launch({ grid: [0], block: [1] }, [])).toBeInstanceOf(ArgumentError)
    expect(launch({ grid: [1, 1, 1, 1], block: [1] }, [])).toBeInstanceOf(ArgumentError)
    expect(launch({ grid: [1], block: [1], sharedBytes: 2 ** 32 }, [])).toBeInstanceOf(ArgumentError)
    expect(launch(undefined as never, [])).toBeInstanceOf(ArgumentError)
    expect(launch({ grid: [1], block: [1] }, [2])).toMatchObject({ message: expect.stringContaining('parameter 0') })
    expect(launch({ grid: [1], block: [1] }, 2)).toBeInstanceOf(ArgumentError)
    expect(launch({ grid: [1], block: [1] }, [ones()])).toBeInstanceOf(ArgumentError)
    expect(launch({ grid: [1], block: [1] }, [ones().segment])).toBeInstanceOf(ArgumentError)
    expect(() => stream.launch('saxpy' as never, { grid: [1], block: [1] }, [])).toThrow(/kernel must be a CudaKernel/)
  })

  test.each(['cuda_saxpy_v1', 'cuda_saxpy_v2', 'cuda_saxpy_v3'])(
    'are launched by the handler %s on its stream',
    async (name) => {
      using module = device.loadModule(ptx)
      using call = saxpyCall(module.kernel('saxpy'), name)
      const [x, y] = operands()
      call.run([x, y], [y])
      expect(await valuesOf(y)).toStrictEqual(expected(1))
      const bound = call.bind([x, y], [y])
      bound.run()
      bound.run()
      expect(await valuesOf(y)).toStrictEqual(expected(3))
      bound.close()
      await call.runAsync([x, y], [y])
      expect(await valuesOf(y)).toStrictEqual(expected(4))
    },
  )

  test('take tensors of the device only, if a handler launches them', () => {
    using module = device.loadModule(ptx)
    using call = saxpyCall(module.kernel('saxpy'))
    expect(() => call.run([ones(), ones()], [ones()])).toThrow(/must be on device type 2/)
  })

  test('are launched by a batch', async () => {
    using module = device.loadModule(ptx)
    using call = saxpyCall(module.kernel('saxpy'))
    const [x, y] = operands()
    const entry = { call, operands: [x, y], results: [y] }
    const steps = batch([entry, entry])
    steps.run()
    await steps.runAsync()
    expect(await valuesOf(y)).toStrictEqual(expected(4))
    expect(() => memory.close()).toThrow(ScopeHeldError)
    steps.close()
  })

  test('get the number of their device', () => {
    // This handler writes to its result on the host, although the result is declared to be on the device.
    const facts = tensor('s64', [2])
    const said = tensor('s64', [2], facts.segment, { device: { type: 2, id: 0 } })
    using call = typedHandler(kernels, 'run_facts', { platform: 'CUDA' }).prepare({ results: [said], stream })
    call.run([], [said])
    expect(facts.toArray()[1]).toBe(0n)
  })

  test.each([
    ['cuda_saxpy_original', ApiVersion.ORIGINAL],
    ['cuda_saxpy_status', ApiVersion.STATUS_RETURNING],
    ['cuda_saxpy_status', ApiVersion.STATUS_RETURNING_UNIFIED],
  ] as const)('are launched by the untyped %s of version %i', async (name, apiVersion) => {
    using module = device.loadModule(ptx)
    const opaque = new DataView(new ArrayBuffer(24))
    opaque.setBigInt64(0, driverFunction('cuLaunchKernel'), true)
    opaque.setBigInt64(8, module.kernel('saxpy').handle, true)
    opaque.setFloat32(16, 2, true)
    opaque.setUint32(20, N, true)
    const [x, y] = operands()
    const target = deviceFunction(handlers, name, { apiVersion })
    const shape = { operands: [x, y], results: [y], stream }
    using call = target.prepare({ ...shape, opaque: new Uint8Array(opaque.buffer) })
    call.run([x, y], [y])
    await call.runAsync([x, y], [y])
    expect(await valuesOf(y)).toStrictEqual(expected(2))
    if (apiVersion === ApiVersion.ORIGINAL) return
    using wrong = target.prepare({ ...shape, opaque: 'no options' })
    expect(() => wrong.run([x, y], [y])).toThrow(/CustomCall failed: the opaque string is not that of saxpy/)
  })

  test('get device memory while their handlers run', async () => {
    const copy = s64(driverFunction('cuMemcpyDtoDAsync_v2'))
    const [x, y] = operands()
    for (const forget of [false, true]) {
      using call = cudaHandler('cuda_copy_through_scratch').prepare({
        operands: [x],
        results: [y],
        attrs: { copy, forget: pred(forget) },
        stream,
      })
      call.run([x], [y])
      expect((await valuesOf(y))[500]).toBe(500)
      if (!forget) continue
      expect(() => captureGraph(call, [x], [y])).toThrow(/a handler cannot allocate while its work is captured/)
      call.run([x], [y])
      await stream.finished()
    }
  })
})

describe(`graphs of ${driver}`, () => {
  test('replay the work that a handler enqueued', async () => {
    using module = device.loadModule(ptx)
    using call = saxpyCall(module.kernel('saxpy'))
    const [x, y] = operands()
    const graph = captureGraph(call, [x, y], [y])
    expect(await valuesOf(y)).toStrictEqual(new Float32Array(N).fill(1))
    for (let i = 0; i < 5; i++) graph.launch()
    expect(await valuesOf(y)).toStrictEqual(expected(5))
    expect(() => memory.close()).toThrow(ScopeHeldError)
    graph.close()
    expect(() => graph.launch()).toThrow(ScopeClosedError)
  })

  test('require a handler with the trait, and a stream', () => {
    using module = device.loadModule(ptx)
    const kernel = module.kernel('saxpy')
    const [x, y] = operands()
    using eager = saxpyCall(kernel, 'cuda_saxpy_eager')
    expect(() => captureGraph(eager, [x, y], [y])).toThrow(/does not declare that its work can be captured/)
    const attrs = { a: f32(2), kernel: s64(kernel.handle), launch: s64(1) }
    const shape = { operands: [x, y], results: [y], attrs }
    using bare = cudaHandler('cuda_saxpy_v3').prepare({ ...shape, stream: stream.handle })
    expect(() => captureGraph(bare, [x, y], [y])).toThrow(/must be prepared for a CUDA stream/)
    using call = saxpyCall(kernel)
    expect(() => captureGraph(call, [x], [y])).toThrow(/prepared for 2 operands/)
    expect(() => captureGraph(5 as never, [x], [y])).toThrow(/call must be a PreparedCall, got 5/)
  })
})
