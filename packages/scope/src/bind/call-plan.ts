import type { FunctionSignature } from '../linker/signature.ts'
import type { UpcallFunction } from '../linker/upcall-stub.ts'
import type { MemorySegment } from '../segment/memory-segment.ts'
import type { AnnotatedParameter, AnnotatedSignature } from './annotations.ts'
import type { BindSignature, BindType } from './bind-signature.ts'
import type { HandleOwner } from './handle-scope.ts'

/** Makes a callback that lives as long as the module. */
export type MakeCallback = (run: UpcallFunction, signature: () => FunctionSignature) => MemorySegment

/** Whether the caller does not pass a parameter of C as it is. */
export const isAnnotated = (parameter: BindType | AnnotatedParameter): parameter is AnnotatedParameter =>
  typeof parameter === 'object' && 'is' in parameter

/** The parameters whose arguments are made for the call. */
const MADE: ReadonlySet<AnnotatedParameter['is']> = new Set([
  'out',
  'struct',
  'omit',
  'constant',
  'length',
  'resultLength',
])

/** Whether the argument of a parameter is made for the call. */
export const isMade = (parameter: BindType | AnnotatedParameter): boolean =>
  isAnnotated(parameter) && (MADE.has(parameter.is) || (parameter.is === 'inout' && parameter.of !== undefined))

/** The parts of a function's declaration that its calls need. */
export class CallPlan {
  readonly name: string
  readonly declaration: AnnotatedSignature
  readonly parameters: readonly (BindType | AnnotatedParameter)[]
  /** Whether the caller passes an allocator before the arguments. */
  readonly hasAllocator: boolean
  readonly returnsStruct: boolean
  /** Whether C gives pointers that this file reads after the call, which may lead into a text that was passed. */
  readonly givesPointers: boolean
  /** How messages name each argument. A call does not make their texts. */
  readonly argumentNames: readonly string[]
  /** The parameters whose handles end with the call. */
  readonly taken: readonly number[]
  /** Whether only the result is not that of C, and needs nothing but itself. */
  readonly isShort: boolean
  readonly signature: BindSignature
  /** The open handles of the module. */
  readonly handles: HandleOwner

  constructor(name: string, declaration: AnnotatedSignature, handles: HandleOwner) {
    const { result, parameters = [], isVariadic = false, errno = false, critical = false, names } = declaration
    this.name = name
    this.handles = handles
    this.declaration = declaration
    this.parameters = parameters
    this.returnsStruct = typeof result === 'object'
    this.hasAllocator = this.returnsStruct || parameters.some((one) => isAnnotated(one) && one.is === 'struct')
    this.givesPointers =
      result === 'pointer' || parameters.some((one) => isAnnotated(one) && one.is === 'out' && one.type === 'pointer')
    this.argumentNames = parameters.map((_, i) => `${names?.[i] ?? `argument ${i + 1}`} of ${name}`)
    this.taken = parameters.flatMap((one, i) =>
      isAnnotated(one) && (one.is === 'taken' || one.is === 'takenAddress') ? [i] : [],
    )
    const { status, returns } = declaration
    const isOwnResult = returns?.handle === undefined && returns?.nonnull === undefined
    this.isShort =
      !parameters.some((one) => isAnnotated(one) || (one === 'text' && this.givesPointers)) &&
      isOwnResult &&
      status === undefined &&
      !errno
    this.signature = {
      result: result ?? 'void',
      parameters: parameters.map(typeForCall),
      isVariadic,
      errno,
      critical,
      names,
    }
  }

  /** The signature for calls in the background, in which callbacks are pointers. */
  get plainSignature(): BindSignature {
    const { parameters = [] } = this.signature
    const plain = parameters.map((type): BindType => (typeof type === 'function' ? 'pointer' : type))
    return { ...this.signature, parameters: plain }
  }

  /** Functions become callbacks of the module. */
  makeCallbacks(list: unknown[], make: MakeCallback): void {
    const offset = this.returnsStruct ? 1 : 0
    this.signature.parameters!.forEach((type, index) => {
      const value = list[index + offset]
      if (typeof type === 'function' && typeof value === 'function')
        list[index + offset] = make(value as UpcallFunction, type)
    })
  }
}

/** The parameters whose arguments have their types in C. */
const PLAIN: ReadonlySet<AnnotatedParameter['is']> = new Set(['omit', 'constant', 'length', 'nonnull', 'retained'])

/** The type of an argument in the call itself: memory that is made for the call is a pointer. */
function typeForCall(parameter: BindType | AnnotatedParameter): BindType {
  if (!isAnnotated(parameter)) return parameter
  const { is, type } = parameter
  return PLAIN.has(is) ? type : 'pointer'
}
