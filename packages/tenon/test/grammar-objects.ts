import { fileURLToPath } from 'node:url'
import * as arrow from '@tenon/arrow'
import * as core from '@tenon/core'
import * as calls from '@tenon/custom-call'
import * as packed from '@tenon/packed-func'
import * as pools from '../src/entries/pools.ts'
import * as scopes from '@tenon/scope'
import { donated, TensorFlowLibrary } from '@tenon/tensorflow'
import * as strings from '@tenon/tstring'
import { openSafetensors } from '@tenon/weights'
import { kernelLibrary } from '@tenon/kernels'
import { Linker, SymbolLookup, upcallStub, VaList } from '@tenon/scope/linker'
import { Library } from '../src/index.ts'
import {
  clip,
  clipCall,
  closing,
  fence,
  kernels,
  model,
  module,
  opened,
  pool,
  prepared,
  scope,
  segment,
  vector,
} from './grammar-makers.ts'

/** The objects of Arrow's C data interface. */
function columns(): Record<string, unknown> {
  const exported = closing(arrow.exportBatch({ x: vector(1) }))
  const batch = closing(arrow.importBatch(exported.schema, exported.array))
  const made = closing(arrow.exportStream([{ x: vector(1) }]))
  const stream = closing(arrow.importStream(made.stream))
  return {
    ArrowExport: exported,
    ArrowBatch: batch,
    ArrowColumn: batch.column('x'),
    ArrowStreamExport: made,
    ArrowStream: stream,
    ArrowSchema: stream.schema,
  }
}

/**
 * One instance of each public class, and each public value, by its name. Records without behaviour, such as `cpu`, are
 * printed by Node.js.
 */
export async function printed(): Promise<Record<string, unknown>> {
  const library = kernels()
  const confined = scope()
  const memory = confined.allocate(64, 8)
  const { int32, struct, sequence, union } = scopes.MemoryLayout
  const point = struct({ x: int32, y: int32 })
  const call = clipCall()
  const x = vector(1, 2, 3)
  const registry = new calls.TargetRegistry()
  const cuda = calls.Cuda.open({ library: kernelLibrary('simulated_cuda') })
  const gpu = closing(cuda.openDevice())
  const stream = closing(gpu.openStream())
  const lib = module()
  const image = closing(pools.createImagePool({ width: 64, height: 4, format: 'R8G8B8A8_UNORM' }))
  const buffers = pool()
  const running = await prepared()
  const source = fence()
  const words = strings.StringTensor.from(['a\nb', 'c'])
  return {
    NativeLibrary: library,
    'NativeLibrary.function()': library.function('do_custom_call', { parameters: ['pointer', 'pointer'] }),
    Library: closing(Library.open(kernelLibrary('kernels'))),
    WeightsFile: openSafetensors(
      fileURLToPath(new URL('../../weights/test/fixtures/types.safetensors', import.meta.url)),
    ),
    TensorFlowLibrary: closing(TensorFlowLibrary.open(kernelLibrary('tf_kernels'))),
    'donated()': donated(x),
    ...columns(),
    'Library.customCall()': calls.customCall(library, 'rms_norm'),
    TensorType: core.tensorType('f32', [2, 4]),
    Tensor: x,
    Segment: segment(),
    Hold: opened(library.acquire(), (hold) => hold.release()),
    gcAllocator: core.gcAllocator,
    processAllocator: core.processAllocator,
    'closed scope': scopes.ResourceScope.ofConfined().run((own) => own),
    ConfinedNativeScope: confined,
    ConfinedScope: closing(scopes.ResourceScope.ofConfined({ name: 'request' })),
    SharedScope: closing(scopes.NativeScope.ofShared()),
    ImplicitScope: scopes.ResourceScope.ofImplicit(),
    GlobalScope: scopes.ResourceScope.global,
    NativeScope: scopes.NativeScope,
    ResourceScope: scopes.ResourceScope,
    NativeAllocator: scopes.NativeAllocator,
    SlicingAllocator: scopes.NativeAllocator.ofSlices(memory),
    MallocAllocator: scopes.NativeAllocator.ofMalloc(() => confined),
    MemoryLayout: scopes.MemoryLayout,
    MemorySegment: memory,
    ValueLayout: int32,
    StructLayout: point,
    SequenceLayout: sequence(point, 10),
    UnionLayout: union({ x: int32 }),
    varHandle: scopes.MemoryLayout.varHandle(point, 'x'),
    accessor: scopes.MemoryLayout.accessor(point),
    Linker,
    SymbolLookup: SymbolLookup.ofProcess(),
    'Linker.downcall()': Linker.downcall(SymbolLookup.ofProcess().get('abs'), {
      result: 'int32',
      parameters: ['int32'],
    }),
    'SymbolLookup.get()': SymbolLookup.ofProcess().get('abs'),
    'upcallStub()': upcallStub(() => 0, { result: 'int32' }, confined),
    VaList: VaList.ofArguments(confined, (builder) => builder.int32(1)),
    TypedHandler: clip(),
    PreparedCall: call,
    BoundCall: closing(call.bind([x], [x])),
    Batch: closing(calls.batch([{ call, operands: [x], results: [x] }])),
    TargetRegistry: registry,
    targets: calls.targets,
    FunctionTarget: opened(
      registry.registerFunction('twice', '(x: f32[n]) -> (y: f32[n])', () => {}),
      () => registry.unregister('twice'),
    ),
    Attribute: calls.f32(1.5),
    Temp: calls.temp(core.tensorType('f32', [2])),
    UntypedFunction: calls.hostFunction(library, 'do_custom_call'),
    'hostCall()': calls.hostCall(library, 'do_custom_call'),
    f32: calls.f32,
    Cuda: cuda,
    CudaDevice: gpu,
    CudaStream: stream,
    CudaEvent: closing(gpu.openEvent()),
    DeviceMemory: closing(gpu.allocate(64)),
    'device tensor': closing(gpu.allocate(64)).tensor('f32', [2]),
    Module: lib,
    PackedFunc: lib.get('sum'),
    'PackedFunc.typed()': lib.get('sum').typed([packed.t.int], packed.t.float, 'sum'),
    'PackedFunc.with()': lib.get('sum').with({ signal: new AbortController().signal }),
    NativeArray: packed.getGlobal('ffi.Array')(1, 'two'),
    NativeMap: packed.getGlobal('ffi.Map')('one', 1),
    NativeShape: packed.shape([2, 3]),
    DataType: packed.dataType('float32'),
    DeviceValue: packed.device('cpu'),
    FloatValue: packed.float(1.5),
    IntValue: packed.int(3),
    OpaquePointer: new packed.OpaquePointer(16n),
    RValue: packed.rvalue(packed.shape([1])),
    TensorView: packed.tensorView(x),
    descriptor: packed.t.int,
    'accept descriptor': packed.accept.int,
    StringTensor: words,
    Pool: buffers,
    PoolSlice: buffers.slice(0, 8),
    ImagePool: image,
    BuiltModel: model(),
    Driver: running.driver,
    PreparedModel: running,
    Burst: closing(running.burst()),
    FenceSource: source,
    Fence: source.fence,
    DeviceBuffer: closing(await running.driver.allocate({ roles: [running.input(0)] })),
  }
}

/** The functions that make callables, each with the name of what it makes. */
export const callables = (): Record<string, { readonly made: unknown; readonly name: string }> => ({
  'NativeLibrary.function()': { made: printedFunction(), name: 'do_custom_call' },
  'Linker.downcall()': {
    made: Linker.downcall(SymbolLookup.ofProcess().get('abs'), { result: 'int32', parameters: ['int32'] }),
    name: 'abs',
  },
  'customCall()': { made: calls.customCall(kernels(), 'rms_norm'), name: 'rms_norm' },
  'hostCall()': { made: calls.hostCall(kernels(), 'do_custom_call'), name: 'do_custom_call' },
  'Module.get()': { made: module().get('sum'), name: 'sum' },
  'getGlobal()': { made: packed.getGlobal('ffi.Array'), name: 'ffi.Array' },
  'packedFunc()': { made: packed.packedFunc(function twice() {}), name: 'twice' },
  'typedFunc()': { made: packed.typedFunc([], () => 1, { name: 'one' }), name: 'one' },
  'legacyFunc()': { made: packed.legacyFunc(function nothing() {}), name: 'nothing' },
  'typedLegacyFunc()': { made: packed.typedLegacyFunc([], () => 1, 'one'), name: 'one' },
  'PackedFunc.typed()': { made: module().get('sum').typed([], packed.t.int, 'sum'), name: 'sum' },
  'targetCall()': {
    made: calls.targetCall(core.parseSignature('clip', '(x: f32[n]) -> (y: f32[n]); low: f32, high: f32'), clip()),
    name: 'clip',
  },
})

const printedFunction = (): unknown => kernels().function('do_custom_call', { parameters: ['pointer', 'pointer'] })
