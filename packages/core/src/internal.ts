/**
 * The entry point that gives Tenon's own packages what makes the hot paths possible. It follows the exact version of
 * the core and promises nothing to anyone else.
 */
export {
  Callback,
  liveCallbacks,
  makeHold,
  takeReleasedCallbacks,
  type CallbackFunction,
} from './callbacks/callback.ts'
export { threadDriver, type ThreadDriver } from './native/call/thread-driver.ts'
export { libraryOfEnvironment } from './native/library-of-environment.ts'
export { libraryFileName } from './native/locate.ts'
export { bundledCore, bundledPath, type BundledFiles } from './native/bundled-files.ts'
export { ByteWriter } from './native/byte-writer.ts'
export { coreFiles } from './native/core-files.ts'
export { WORDS } from './native/call/frame-layout.ts'
export { words } from './native/call/frame.ts'
export { enteredFunctions, functionAt, type Entered, type PlainFunction } from './native/call/function-at.ts'
export { addressAt, setAddress, takeThrown, thrown } from './native/call/functions.ts'
export { expectJob, forgetJob, isPending } from './native/call/jobs.ts'
export { checkLimits, LONGEST_TIMER, runJob, submitJob, type RunLimits } from './native/call/run-job.ts'
export { makeStub, type Stub, type StubOptions, type StubSettings } from './native/call/stubs.ts'
export { fromWords } from './native/call/struct-bytes.ts'
export { type StubPlace } from './native/call/stub-steps.ts'
export { ABSL_CODES, abslCodeName, type AbslCodeName } from './errors/absl-codes.ts'
export { checkAlignment, checkName, checkSize, wrongType, wrongValue } from './errors/check-arguments.ts'
export { checkOptions } from './errors/check-options.ts'
export { describe, hex } from './errors/describe.ts'
export { installCrashReporter } from './crash/install-crash-reporter.ts'
export { MOST_REPORT_BYTES, parseCrashFile, type CrashedCall, type CrashFile } from './crash/crash-file.ts'
export { readCrash, readModules, type CodeModule, type CrashRecord } from './crash/crash-record.ts'
export { describeFrame, frameOfFault, locateFrames, placeOfFrame, type NativeFrame } from './crash/native-frames.ts'
export { copyHint } from './errors/other-copy.ts'
export { inspect, inspectAsText, inspectCustom } from './errors/inspect.ts'
export { filePath } from './errors/file-path.ts'
export { isRevoked } from './errors/is-revoked.ts'
export { isPlainObject } from './errors/plain-object.ts'
export {
  defineKind,
  hostPlatformName,
  nativeFormat,
  SimpleError,
  readBinary,
  type TenonErrorOptions,
} from '@tenon/binary'
export { didYouMean, suggest } from '@tenon/binary/internal'
export { highWord, lowWord, writeAddress } from './memory/address-words.ts'
export { ADDRESS_SPACE_END, NULL_PAGE } from './memory/address-space.ts'
export {
  Block,
  checkEnterable,
  checkUsable,
  expose,
  exposures,
  gateOfBuffer,
  isPointer,
  type PartSource,
  pointedView,
  sharedChunkOf,
} from './memory/block.ts'
export {
  alignmentGap,
  detachBuffer,
  isDetached,
  isResizable,
  moveBuffer,
  newArrayBuffer,
  retireBuffer,
} from './memory/array-buffer.ts'
export { callsInProgress, enterCall, innermostCall, leaveCall, nativeHolds, usersOf } from './memory/call-stack.ts'
export { checkAddress, foreignBlock } from './memory/foreign-memory.ts'
export {
  addressIn,
  NO_ADDRESS,
  pointerBlock,
  remoteBlock,
  remotePlaceOf,
  samePointer,
  type RemoteWorker,
  setRemotePointerIn,
} from './memory/pointer-address.ts'
export { globalGate, unclosable } from './memory/global-lifetime.ts'
export { enterAll, exitAll, Gate, holdAll, liveHolds, releaseAll, type Gated } from './memory/lifetime.ts'
export { Cleaner } from './memory/cleaner.ts'
export { debugs, guardMode } from './memory/guard-mode.ts'
export { checkedCall, findDamage, type Written } from './memory/guarded-calls.ts'
export { addGuard, newGuardedMemory, type Damage, type Guard } from './memory/guarded-memory.ts'
export { allocateFrom, type AllocatingLayout, type ValueAllocator } from './memory/native-allocator.ts'
export { DEFAULT_ALIGNMENT } from './memory/allocators.ts'
export { newCollected, TENSOR_ALIGNMENT } from './memory/collected-memory.ts'
export { fillBytes } from './memory/fill-bytes.ts'
export { writeUtf8 } from './memory/write-utf8.ts'
export { LostWrites, MappedFile, pageSize, reserveRoom, type MappedFileOptions } from './memory/mapped-file.ts'
export {
  RUN_OPTIONS,
  type CallPriority,
  type IsolatedRunOptions,
  type RemoteAnswer,
  type RemoteCall,
  type RemoteHost,
  type RemoteKernel,
  type RemoteOperand,
  type RemotePart,
} from './remote/remote-call.ts'
export { AnswerReader, type AnswerPart } from './remote/answer-reader.ts'
export { bindRemoteFunction } from './remote/remote-function.ts'
export type { SharedChunk } from './memory/shared-chunk.ts'
export { hasSlabs, partBuffers, Slab, SLAB_ALIGNMENT } from './memory/slab.ts'
export { shareMapping, ThreadRange } from './memory/thread-range.ts'
export { ManagedLifetime } from './memory/managed-lifetime.ts'
export { checkSlice, DEVICE_MEMORY, READ_ONLY } from './memory/segment.ts'
export { readSegment } from './memory/read-segment.ts'
export { NativeStruct } from './native/native-struct.ts'
export { CONSTANTS, LAYOUTS } from './generated/layouts.ts'
export { STATUS } from './generated/status.ts'
export {
  checkStatus,
  coreFunctions,
  coreLibrary,
  lastError,
  statusName,
  type CoreFunctions,
} from './native/core-library.ts'
export { isMainThread } from './native/main-thread.ts'
export { checkStarted } from './native/call/check-started.ts'
export {
  coreFunctionAddress,
  fileBesideCore,
  libraryFunctionAddress,
  functionsIn,
  libraryFunctions,
  siblingPath,
  type LibraryFunctions,
} from './native/library-functions.ts'
export { bufferOrFree, bufferOver, hasNativeBuffers } from './native/call/buffer-over.ts'
export { copiedBuffer, lentBuffer, type LentBuffer } from './memory/lent-buffer.ts'
export { sharedBufferOf } from './native/call/shared-buffer.ts'
export { MEMORY } from './native/memory-of.ts'
export { textAt } from './native/text-at.ts'
export { addressOf, keepAlive, stringAt } from './native/native-memory.ts'
export { checkType, type Value } from './native/argument-conversion.ts'
export { checkParameterCount, checkStructSize } from './native/call/plan.ts'
export { type StructField } from './native/call/call-plan.ts'
export { type ValueWithErrno } from './native/call/call-steps.ts'
export { codeBlock } from './native/call/store.ts'
export { runtime } from './native/runtime.ts'
export { pollReadable, type ReadableWatch } from './native/poll-readable.ts'
export { StructType } from './native/struct-type.ts'
export { checkArguments, setArgumentCheck } from './native/argument-checks.ts'
export { bindFunction } from './native/native-function.ts'
export { explainLoadFailure } from './native/explain-load-failure.ts'
export { checkFileIdentity, fileIdentity } from './native/file-identity.ts'
export { missingSymbol } from './native/missing-symbol.ts'
export { unloadable } from './native/unloadable-file.ts'
export { AttributeReader } from './signatures/attribute-reader.ts'
export { exampleOf } from './signatures/attribute-type.ts'
export { parameterText } from './signatures/call-bindings.ts'
export { formatLiteral, formatType } from './signatures/format-signature.ts'
export {
  type AttributeLiteral,
  isSignature,
  KERNEL_CONVENTIONS,
  type ParameterKind,
  type ParameterLayout,
  type SignatureSource,
} from './signatures/kernel-signature.ts'
export { readSignature } from './signatures/parse-signature.ts'
export { printedAsText } from './signatures/printed-signature.ts'
export { TokenReader } from './signatures/token-reader.ts'
export { type Token } from './signatures/tokens.ts'
export { isGroup } from './signatures/dimension.ts'
export { collectNames, evaluate, NoSize } from './signatures/size-expression.ts'
export { resolveAttributes } from './signatures/resolve-attributes.ts'
export { resolveCall, type CallType } from './signatures/resolve-call.ts'
export { inferSizes, type InferSizes } from './signatures/infer-sizes.ts'
export {
  type ArgumentsFor,
  type AttributesInput,
  type AttributesOutput,
  type OperandFor,
  type OperandsFor,
  type OperandsOf,
  type ParameterTypes,
  type ResultsOf,
  type ReturnFor,
  type TensorsFor,
  type TypedDictionary,
} from './signatures/signature-types.ts'
export {
  bytesOfStrings,
  emptyStrings,
  giveStrings,
  heldOperand,
  lentStrings,
  shareStrings,
  stringsOfBytes,
} from './strings/function-strings.ts'
export { DEFAULT_STRING_LAYOUT, STRING_LAYOUTS, stringName, stringSize } from './strings/string-layout.ts'
export {
  checkStrings,
  isStringOperand,
  readStrings,
  stringSegmentOf,
  type StringUse,
} from './strings/string-operand.ts'
export {
  abandonStrings,
  arrivedStrings,
  freeStrings,
  stringsArrived,
  takeSharedStrings,
  takeStrings,
} from './strings/string-result.ts'
export {
  addStringClass,
  arrowOfStrings,
  type ArrowStringOptions,
  type ArrowStrings,
  hasStringClass,
  isStringTensor,
  loadStringsWith,
  makeStrings,
  requireStringClass,
  stringsOfArrow,
  type StringArgument,
  type StringMemory,
  type StringSource,
} from './strings/string-tensor-like.ts'
export { countZeros, isSet, packBits, unpackBits } from './interchange/bitmap.ts'
export { isForeign } from './interchange/find.ts'
export { adopt, asTensor } from './interchange/adopt.ts'
export { offers } from './interchange/offer.ts'
export { refuseOverlaps } from './types/refuse-overlaps.ts'
export { stringType } from './types/string-type.ts'
export { elementCodec, type ElementCodec } from './types/element.ts'
export { decodeMiniFloat, encodeMiniFloat, isMiniFloat, type MiniFloatName } from './types/minifloat.ts'
export { rowMajorStrides, rowMajorType, type Packing } from './types/tensor-type.ts'
export { flatten, unravel } from './types/tensor-literals.ts'
export { nest } from './types/tensor-elements.ts'
export { newTensor } from './types/tensor.ts'
export { layoutText, withLayout } from './types/tensor-views.ts'
export { copyBytes, sharedBytes } from './types/tensor-bytes.ts'
export { newTrace, typesOf } from './tracing/call-trace.ts'
export { isTraced, traceAgain, traceCall, traceLater } from './tracing/tracing.ts'
export { callNamed, profiling } from './tracing/named-call.ts'
export { nameStub } from './tracing/stub-names.ts'
export { typedArrayClass, findDType } from './types/dtype.ts'
