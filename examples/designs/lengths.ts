/**
 * The lines of each code example in its design, without blank lines and comments. Undefined where the design describes a rule without code. An
 * example of ours has at most twice as many, not counting what checks its outcome. The texts that were counted:
 *
 * - scope: `doc/panama_memaccess.md` of openjdk/panama-foreign, May 2021, up to `unsafeSegment`. Those behind it are of the mail "memory access -
 *   pulling all the threads" to panama-dev, 25 January 2021, whose archive was not at hand: their lengths are of its names and are not counted.
 * - pools: the page "Memory pools" of the neural networks HAL, https://source.android.com, which has no code.
 * - tstring: `rfcs/20190411-string-unification.md` of tensorflow/community: `type()` and `data()` are its only functions.
 * - packed-func: `docs/dev/runtime.rst` of apache/tvm (`docs/arch/runtime.rst` since 0.8) up to `placeholder`, then apache/tvm-ffi:
 *   `load_numpy.py` (`loadModule`) and `add_one_cuda.cu` of `examples/quickstart`, and `docs/get_started/quick_start.md`, whose program for
 *   PyTorch is that of `addOneCuda`.
 * - custom-call: `docs/custom_call.md` of openxla/xla before the typed FFI, and of 2024 for `typed` and `typedGpu`. The builder's program for
 *   GPUs is "the same implementation as above".
 */
export const lengths: Readonly<Record<string, Readonly<Record<string, number | undefined>>>> = {
  scope: {
    allocate: 1,
    slicing: 2,
    dereference: 8,
    bufferView: 7,
    layout: 6,
    byteOffset: 1,
    varHandles: 8,
    mappedFile: 3,
    manySegments: 6,
    writePoint: 4,
    writePointSafe: 9,
    elements: 13,
    standaloneHandle: 1,
    insertCoordinates: 3,
    unsafeSegment: 5,
    customAllocator: 2,
    ofMalloc: 2,
    nativeScope: 3,
    structByValue: 3,
  },
  pools: {
    constants: undefined,
    ashmem: undefined,
    mmapFd: undefined,
    hardwareBufferBlob: undefined,
    hardwareBuffer: undefined,
    memoryDomain: undefined,
    dynamicDimensions: undefined,
  },
  tstring: { types: undefined, typeBits: 1, data: 3, assignment: undefined, sizes: undefined },
  'packed-func': {
    callPacked: 4,
    getGlobalFunc: 5,
    callHello: 6,
    placeholder: 3,
    loadModule: 7,
    callAddOne: 5,
    addOneC: undefined,
    addOneCuda: 10,
  },
  'custom-call': { cpu: 10, gpu: 10, opaqueShape: 4, status: 6, tuples: 16, typed: 14, typedGpu: 14 },
  csrc: {
    myAdd: 5,
    callHello: 5,
    attrVisitor: 16,
    tensorNode: 14,
    addOneCpu: 12,
    addOneC: 24,
    addOneCuda: 20,
    cpu: 9,
    status: 7,
    tuples: 11,
    gpu: 15,
    typed: 17,
    typedGpu: 23,
  },
}
