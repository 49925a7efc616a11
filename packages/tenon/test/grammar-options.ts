import { fileURLToPath } from 'node:url'
import * as arrow from '@tenon/arrow'
import * as core from '@tenon/core'
import * as calls from '@tenon/custom-call'
import * as packed from '@tenon/packed-func'
import * as pools from '../src/entries/pools.ts'
import { Workers } from '@tenon/isolate/internal'
import * as scopes from '@tenon/scope'
import { TensorFlowLibrary, type TensorFlowKernel } from '@tenon/tensorflow'
import * as strings from '@tenon/tstring'
import { runScript } from '@tenon/core/testing'
import { kernelLibrary } from '@tenon/kernels'
import { Handle, NativeModule } from '@tenon/scope/bind'
import { Linker, SymbolLookup } from '@tenon/scope/linker'
import { watch } from '../src/entries/build.ts'
import { esbuildPlugin, rollupPlugin } from '../src/entries/bundler.ts'
import { assertClose } from '../src/entries/testing.ts'
import { installCrashReporter, Library, type IsolatedLibrary } from '../src/index.ts'
import { encodeNpyHeader, openGguf, readNpz } from '@tenon/weights'
import {
  clip,
  clipCall,
  closing,
  device,
  driver,
  fence,
  file,
  kernels,
  model,
  module,
  pool,
  prepared,
  ptx,
  request,
  scope,
  segment,
  vector,
} from './grammar-makers.ts'

/** The path of a file of the tests of weights. */
const fixtureOfWeights = (name: string): string =>
  fileURLToPath(new URL(`../../weights/test/fixtures/${name}`, import.meta.url))

interface Refusal {
  /** The function that takes the options. */
  readonly name: string
  /** The folder of the package. */
  readonly owner: string
  /** Calls the function with these options. */
  readonly call: (options: never) => unknown
}

class Own extends Handle {}

/** A kernel with two results. */
const splitKernel = (): calls.Kernel<unknown> =>
  calls.targetCall<unknown>('(x: f32[n]) -> (a: f32[n], b: f32[n])', clip())

/** A kernel of TensorFlow's C API. */
const ofTensorFlow = (name: string, options?: object): TensorFlowKernel =>
  closing(TensorFlowLibrary.open(kernelLibrary('tf_kernels'))).kernel(name, options)

/** Makes a call that uses a library in a worker. */
const isolated =
  (name: string, use: (library: IsolatedLibrary, options: never) => unknown) =>
  async (options: never): Promise<unknown> => {
    await using library = await Library.isolate(kernelLibrary(name))
    return await use(library, options)
  }

/** A call of every function that takes options, by package. */
export const refusals: readonly Refusal[] = Object.entries<Record<string, (options: never) => unknown>>({
  core: {
    'NativeLibrary.function': (options) => kernels().function('do_custom_call', options),
    'NativeLibrary.function, options': (options) =>
      kernels().function('do_custom_call', { parameters: ['pointer', 'pointer'] }, options),
    runScript: (options) => runScript('', options),
    platformLibrary: (options) => core.platformLibrary('file:///x.js', options),
    installCrashReporter,
    parseSignature: (options) => core.parseSignature('name', '() -> ()', options),
    tensorType: (options) => core.tensorType('f32', [1], options),
    tensor: (options) => core.tensor('f32', [1], undefined, options),
    from: (options) => core.from(new Float32Array(1), [1], options),
    'Tensor.to': (options) => core.tensor([1]).to('f16', options),
  },
  tenon: {
    watch: (options) => watch(file('tenon.config.ts'), () => {}, options),
    'Library.kernel': (options) => closing(Library.open(kernelLibrary('kernels'))).kernel('softmax', options),
    'a packed kernel, resources': (resources) =>
      closing(Library.open(kernelLibrary('packed'))).kernel('add_one', { signature: '(x: f32[n]) -> (y: f32[n])' })(
        vector(1),
        { resources },
      ),
    'an isolated kernel without a signature': isolated('kernels', (library, options) =>
      library.kernel('clip_v4')(vector(1), options),
    ),
    'an isolated kernel in TypeScript, resources': async (resources) => {
      await using library = await Library.isolate(new URL('isolation/script-kernels.ts', import.meta.url), {
        host: 'node',
      })
      return library.kernel('later', { signature: '(x: f32[n]) -> (y: f32[n])' })(vector(1), { resources })
    },
    assertClose: (options) => assertClose(1, 1, options),
    esbuildPlugin,
    rollupPlugin,
  },
  'custom-call': {
    'an isolated kernel, resources': isolated('kernels', (library, resources) =>
      library.kernel('softmax')(vector(1), {}, { resources }),
    ),
    targetCall: (options) => calls.targetCall('() -> ()', clip(), options),
    'a kernel, options': (options) => splitKernel()(vector(1), options),
    'a kernel, into': (into) => splitKernel()(vector(1), { into }),
    'a kernel, layouts': (layouts) => splitKernel()(vector(1), { layouts }),
    'a kernel, layouts by name': (operands) => splitKernel()(vector(1), { layouts: { operands } }),
    'a kernel, resources': (resources) => splitKernel()(vector(1), { resources }),
    'kernel.prepare': (options) => splitKernel().prepare([vector(1)], {}, options),
    hostFunction: (options) => calls.hostFunction(kernels(), 'do_custom_call', options),
    deviceFunction: (options) => calls.deviceFunction(kernels(), 'do_custom_call', options),
    'UntypedFunction.prepare': (options) => calls.hostFunction(kernels(), 'do_custom_call').prepare(options),
    registerType: (options) => calls.registerType(kernels(), 'name', options),
    callProvider: (options) => calls.callProvider(kernels(), 'silent', options),
    'typedHandler, options': (options) => calls.typedHandler(kernels(), 'rms_norm', options),
    'typedHandler, symbols': (options) => calls.typedHandler(kernels(), options),
    'TypedHandler.prepare': (options) => clip().prepare(options),
    registeredHandler: (options) => calls.registeredHandler('name', options),
    TargetRegistry: (options) => new calls.TargetRegistry(options),
    'TargetRegistry.registerUntyped': (options) =>
      new calls.TargetRegistry().registerUntyped('name', { library: kernels(), symbol: 'do_custom_call' }, options),
    'TargetRegistry.registerTyped, bundle': (options: object) =>
      new calls.TargetRegistry().registerTyped('name', {
        execute: { library: kernels(), symbol: 'rms_norm' },
        ...options,
      }),
    'TargetRegistry.registerTyped, options': (options) =>
      new calls.TargetRegistry().registerTyped(
        'name',
        { execute: { library: kernels(), symbol: 'rms_norm' } },
        options,
      ),
    'TargetRegistry.lookup': (options) => new calls.TargetRegistry().lookup('name', options),
    'TargetRegistry.unregister': (options) => new calls.TargetRegistry().unregister('name', options),
    'TargetRegistry.prepare': (options) => new calls.TargetRegistry().prepare('name', options),
    'CudaStream.launch': (options) => {
      const gpu = device()
      const loaded = closing(gpu.loadModule(ptx))
      closing(gpu.openStream()).launch(loaded.kernel('saxpy'), options, [])
    },
    'Cuda.open': (options) => calls.Cuda.open(options),
    'a custom call': (options: object) =>
      calls.customCall(kernels(), 'rms_norm')([], { results: [calls.f32([1])], ...options }),
    'a custom call, asynchronous': (options: object) =>
      calls.customCall(kernels(), 'rms_norm').async([], { results: [calls.f32([1])], ...options }),
    'a host call': (options: object) =>
      calls.hostCall(kernels(), 'do_custom_call')([], { results: [calls.f32([1])], ...options }),
    'PreparedCall.runAsync': (options) => clipCall().runAsync([vector(1, 2, 3)], [vector(1, 2, 3)], options),
    'BoundCall.runAsync': (options) => closing(clipCall().bind([vector(1, 2, 3)], [vector(1, 2, 3)])).runAsync(options),
    'Batch.runAsync': (options) =>
      closing(calls.batch([{ call: clipCall(), operands: [vector(1, 2, 3)], results: [vector(1, 2, 3)] }])).runAsync(
        options,
      ),
  },
  'packed-func': {
    'an isolated packed function': isolated('packed', (library, options) => library.packed('sum').with(options)),
    typedFunc: (options) => packed.typedFunc([], () => null, options),
    toDLPack: (options) => packed.toDLPack(vector(1), options),
    fromDLPack: (options) => packed.fromDLPack(new packed.OpaquePointer(16n), options),
    'Module.open': (options) => packed.Module.open(kernelLibrary('packed'), options),
    'Module.get': (options) => module().get('sum', options),
    packedFunc: (options) => packed.packedFunc(() => null, options),
    'packedFunc, relay': (options) => packed.packedFunc(() => null, { relay: options }),
    registerGlobal: (options) => packed.registerGlobal('tenon.grammar', () => null, options),
    'PackedFunc.with': (options) => module().get('sum').with(options),
  },
  isolate: {
    'Library.isolate': async (options) => Library.isolate(kernelLibrary('kernels'), options),
    'IsolatedLibrary.closeAsync': isolated('kernels', async (library, options) => library.closeAsync(options)),
    'Workers.open': async (options) => Workers.open(options),
    'Workers.open, restart': async (restart) => Workers.open({ restart }),
    'Workers.closeAsync': async (options) => {
      await using workers = await Workers.open()
      await workers.closeAsync(options)
    },
  },
  nnapi: {
    validateModel: (options) => pools.validateModel(model(), options),
    buildModel: (options) => pools.buildModel(() => {}, options),
    'ModelBuilder.input': (options) => pools.buildModel((g) => void g.input('TENSOR_FLOAT32', [1], options)),
    validateRequest: (options) => pools.validateRequest(model(), request() as never, options),
    spawnDriver: (options) => pools.spawnDriver(options),
    workerDriver: (options) => pools.workerDriver(options),
    connectDriver: (options) => pools.connectDriver('/absent', options),
    'Fence.wait': (options) => fence().fence.wait(options),
    'Fence.waitAsync': (options) => fence().fence.waitAsync(options),
    localDriver: (options) => pools.localDriver(options),
    allocateMemory: (options: object) => pools.allocateMemory({ roles: [], ...options }),
    'PreparedModel.run': async (options) => (await prepared()).run(request(), options),
    'PreparedModel.runAsync': async (options) => (await prepared()).runAsync(request(), options),
    'PreparedModel.runFencedAsync': async (options) => (await prepared()).runFencedAsync(request(), options),
    'PreparedModel.input': async (options) => (await prepared()).input(0, options),
    'Driver.prepare': async (options) => driver().prepare(model(), options),
    'Driver.supportedOperations': (options) => driver().supportedOperations(model(), options),
    'Driver.allocate': async (options: object) => {
      const running = await prepared()
      return running.driver.allocate({ roles: [running.input(0)], ...options })
    },
    'Burst.run': async (options) => closing((await prepared()).burst()).run(request(), options),
    'Burst.runAsync': async (options) => closing((await prepared()).burst()).runAsync(request(), options),
    serveDriver: (options) => pools.serveDriver(options),
    'localDriver, limits': (options) => pools.localDriver({ limits: options }),
    'serveDriver, totals': async (options) => pools.serveDriver({ path: '/absent/driver', totals: options }),
  },
  pools: {
    'SharedMemory.open': (options) => pools.SharedMemory.open(options),
    'SharedMemory.arena': (options) => closing(pools.SharedMemory.open()).arena(options),
    'SharedMemory.handle': (options) => closing(pools.SharedMemory.open()).handle(options),
    'SharedMemory.export': async (options: object) =>
      closing(pools.SharedMemory.open()).export({ name: 'grammar', ...options }),
    'SharedMemory.openNamed': async (options) => pools.SharedMemory.openNamed('absent', options),
    createPool: (options) => pools.createPool(64, options),
    createImagePool: (options: object) =>
      pools.createImagePool({ width: 1, height: 1, format: 'R8G8B8A8_UNORM', ...options }),
    createFrozenPool: (options) => pools.createFrozenPool(new Uint8Array(8), options),
    openFilePool: (options) => pools.openFilePool(file('text'), options),
    'Pool.slice': (options) => pool().slice(0, 8, options),
  },
  scope: {
    'Linker.downcall': (options) => Linker.downcall(SymbolLookup.ofProcess().get('abs'), {}, options),
    'Linker.downcall, signature': (options) => Linker.downcall(SymbolLookup.ofProcess().get('abs'), options),
    'IsolatedLibrary.function': isolated('kernels', (library, options) =>
      library.function('do_custom_call', {}, options),
    ),
    'SymbolLookup.find': (options) => SymbolLookup.ofProcess().find('abs', options),
    'SymbolLookup.get': (options) => SymbolLookup.ofProcess().get('abs', options),
    'NativeModule.of': (options) => NativeModule.of(options),
    'Handle.own': (options) => Own.own(scopes.MemorySegment.ofAddress(8n), () => {}, options),
    'ResourceScope.ofConfined': (options) => scopes.ResourceScope.ofConfined(options),
    'NativeScope.ofConfined': (options) => scopes.NativeScope.ofConfined(options),
    'NativeScope.ofShared': (options) => scopes.NativeScope.ofShared(options),
    closeAsync: (options) => closing(scopes.NativeScope.ofShared()).closeAsync(options),
    'SharedScope.share': (options) => closing(scopes.NativeScope.ofShared()).share(options),
    toCString: (options) => scopes.toCString('text', scope(), options),
    'MemorySegment.setString': (options) => scope().allocate(8).setString(0, 'text', options),
    'MemorySegment.mapFile': (options) => scopes.MemorySegment.mapFile(file('text'), scope(), options),
  },
  tstring: {
    tstringMove: (options) => strings.tstringMove(segment(), segment(), options),
    decodeStruct: (options) => strings.decodeStruct(new Uint8Array(24), options),
    'StringTensor.get': (options) => strings.StringTensor.from(['a']).get(0, options),
    'StringTensor.ofArrowUtf8': (options) =>
      strings.StringTensor.ofArrowUtf8(Buffer.from('a'), Int32Array.of(0, 1), options),
    'StringTensor.ofSegment': (options) => strings.StringTensor.ofSegment(segment(), options),
    'StringTensor.open': (options) => strings.StringTensor.open(file('text'), options),
    'StringTensor.toArray': (options) => strings.StringTensor.from(['a']).toArray(options),
    'StringTensor.gather': (options) => strings.StringTensor.from(['a']).gather([0], options),
    'StringTensor.to': (options) => strings.StringTensor.from(['a']).to('tflite', options),
    'StringTensor.toArrowUtf8': (options) => strings.StringTensor.from(['a']).toArrowUtf8(options),
    'StringTensor.toArrowUtf8View': (options) => strings.StringTensor.from(['a']).toArrowUtf8View(options),
    'StringTensor.ofArrowUtf8View': (options) => strings.StringTensor.ofArrowUtf8View(Buffer.from(''), [], options),
    'StringTensor.from': (options) => strings.StringTensor.from(['a'], options),
    'StringTensor.ofCapacity': (options) => strings.StringTensor.ofCapacity(1, 8, options),
  },
  arrow: {
    importBatch: (options) => arrow.importBatch(0n, 0n, options),
    importStream: (options) => arrow.importStream(0n, options),
    exportColumn: (options) => arrow.exportColumn(vector(1), options),
    'exportBatch, a column': (column: object) => arrow.exportBatch({ x: { values: vector(1), ...column } }),
    exportStream: (options) => arrow.exportStream([], options),
    'ArrowColumn.tensor': (options) => {
      const exported = closing(arrow.exportBatch({ x: vector(1) }))
      return closing(arrow.importBatch(exported.schema, exported.array)).column('x').tensor(options)
    },
  },
  weights: {
    readNpz: (options) => readNpz(fixtureOfWeights('stored.npz'), undefined, options),
    'WeightsFile.tensor': (options) => openGguf(fixtureOfWeights('types.gguf')).tensor('f32', options),
    encodeNpyHeader: (options) => encodeNpyHeader('float32', [1], options),
  },
  tensorflow: {
    'a call of a kernel of TensorFlow': (options) => ofTensorFlow('Peek')(strings.StringTensor.from(['a']), options),
    'the definition of an operation': (definition) => ofTensorFlow('Relu', { definition, device: 'MY_DEVICE' }),
  },
}).flatMap(([owner, rows]) => Object.entries(rows).map(([name, call]) => ({ name, owner, call })))
