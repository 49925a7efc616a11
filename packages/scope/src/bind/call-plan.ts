import { toCString } from '../allocator/to-c-string.ts'
import type { FunctionSignature } from '../linker/signature.ts'
import type { UpcallFunction } from '../linker/upcall-stub.ts'
import type { ConfinedNativeScope } from '../scope/confined-native-scope.ts'
import { MemorySegment } from '../segment/memory-segment.ts'
import type { AnnotatedParameter, AnnotatedSignature } from './annotations.ts'
import type { BindSignature, BindType } from './bind-signature.ts'
import { Struct } from './struct.ts'

/** Makes a callback that lives as long as the module. */
export type MakeCallback = (run: UpcallFunction, signature: () => FunctionSignature) => MemorySegment

/** Whether the caller does not pass a parameter of C as it is. */
export const isAnnotated = (parameter: BindType | AnnotatedParameter): parameter is AnnotatedParameter =>
  typeof parameter === 'object' && 'is' in parameter

/** The parameters whose arguments are made for the call. */
const MADE: ReadonlySet<AnnotatedParameter['is']> = new Set(['out', 'struct', 'omit', 'length', 'resultLength'])

/** Whether the argument of a parameter is made for the call. */
export const isMade = (parameter: BindType | AnnotatedParameter): boolean =>
  isAnnotated(parameter) && (MADE.has(parameter.is) || (parameter.is === 'inout' && parameter.of !== undefined))

/** What is known of a function before its calls. */
export class CallPlan {
  readonly name: string
  readonly declaration: AnnotatedSignature
  readonly parameters: readonly (BindType | AnnotatedParameter)[]
  /** Whether the caller passes an allocator before the arguments. */
  readonly hasAllocator: boolean
  readonly returnsStruct: boolean
  /** Whether C gives pointers that this file reads after the call, which may lead into a text that was passed. */
  readonly givesPointers: boolean
  readonly signature: BindSignature

  constructor(name: string, declaration: AnnotatedSignature) {
    const { result, parameters = [], isVariadic = false, errno = false } = declaration
    this.name = name
    this.declaration = declaration
    this.parameters = parameters
    this.returnsStruct = typeof result === 'object'
    this.hasAllocator = this.returnsStruct || parameters.some((one) => isAnnotated(one) && one.is === 'struct')
    this.givesPointers =
      result === 'pointer' || parameters.some((one) => isAnnotated(one) && one.is === 'out' && one.type === 'pointer')
    this.signature = { result: result ?? 'void', parameters: parameters.map(typeForCall), isVariadic, errno }
  }

  /** The signature for calls in the background, whose texts and callbacks this file makes. */
  get plainSignature(): BindSignature {
    const { result, parameters, errno } = this.signature
    const plain = (type: BindType): BindType => (type === 'text' || typeof type === 'function' ? 'pointer' : type)
    return { result: result === 'void' ? result : plain(result!), parameters: parameters!.map(plain), errno: errno! }
  }

  /** Texts get memory that lives until the call has ended, and functions become callbacks of the module. */
  copyForBackground(list: unknown[], run: { readonly arena: ConfinedNativeScope }, callback: MakeCallback): void {
    const offset = this.returnsStruct ? 1 : 0
    this.signature.parameters!.forEach((type, index) => {
      const at = index + offset
      const value = list[at]
      if (type === 'text' && typeof value === 'string') list[at] = toCString(value, run.arena)
      else if (typeof type === 'function' && typeof value === 'function')
        list[at] = callback(value as UpcallFunction, type)
      else if (value instanceof Struct) list[at] = value.segment
      else if (ArrayBuffer.isView(value)) list[at] = MemorySegment.ofBuffer(value)
    })
  }
}

/** The type of an argument in the call itself: memory that is made for the call is a pointer. */
function typeForCall(parameter: BindType | AnnotatedParameter): BindType {
  if (!isAnnotated(parameter)) return parameter
  const { is, type } = parameter
  const isPlain = is === 'omit' || is === 'length' || is === 'nonnull' || is === 'retained'
  return isPlain ? type : 'pointer'
}
