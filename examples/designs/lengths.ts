/**
 * The lines of each code example in its design, without blank lines and comments. Undefined where the design describes a rule without code. An
 * example of ours has at most twice as many, not counting what checks its outcome.
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
    writePointSafe: 7,
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
  'packed-func': { callPacked: 4, getGlobalFunc: 5, callHello: 6, loadModule: 7, callAddOne: 5, addOneC: 4 },
  'custom-call': { cpu: 10, gpu: 10, opaqueShape: 4, status: 6, tuples: 16, typed: 10 },
  csrc: { myAdd: 5, callHello: 5, addOneCpu: 12, addOneC: 24, cpu: 9, status: 9, tuples: 8, gpu: 12, typed: 13 },
}
