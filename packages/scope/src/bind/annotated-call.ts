import type { Hold } from '@tenon/core'
import { checkArguments, remotePlaceOf, setRemotePointerIn, wrongType } from '@tenon/core/internal'
import { allocateFrom, type AllocatorLike } from '../allocator/check-allocator.ts'
import { toCString } from '../allocator/to-c-string.ts'
import { MemoryLayout } from '../layout/layouts.ts'
import { upcallStub, type UpcallFunction } from '../linker/upcall-stub.ts'
import { ConfinedNativeScope } from '../scope/native-scope.ts'
import { MemorySegment } from '../segment/memory-segment.ts'
import type { AnnotatedParameter, AnnotatedSignature, StatusForm, ValueForm } from './annotations.ts'
import {
  copyOf,
  countOf,
  formed,
  lengthOf,
  readWritten,
  sizeOfWritten,
  type WrittenType,
  writeWritten,
} from './call-values.ts'
import { CallPlan, isAnnotated, isMade, type MakeCallback } from './call-plan.ts'
import { detachHandle, Handle, handleScopeOf, makeHandle, parentOf } from './handle.ts'
import type { HandleOwner } from './handle-scope.ts'
import { writePointer } from './members.ts'
import type { BindSignature } from './bind-signature.ts'
import { Returned } from './returned.ts'
import { slots } from './slot-stack.ts'
import { StatusError } from './status-error.ts'
import { Struct } from './struct.ts'

type Call = (...values: readonly unknown[]) => unknown

/** How the module of a call links functions and keeps callbacks. */
export interface CallLinker {
  /** Links a function. One without parameters that are callbacks also runs in the background. */
  link(signature: BindSignature): Call
  readonly callback: MakeCallback
  /** The open handles of the module. */
  readonly handles: HandleOwner
}

/** A call that also runs in the background. */
export interface BackgroundCall {
  readonly async: (...values: readonly unknown[]) => Promise<unknown>
}

/** A call with the annotations of its function. */
export type AnnotatedCall = Call & BackgroundCall

/** Links a function whose annotations change how it is called. */
export function annotatedCall(name: string, declaration: AnnotatedSignature, linker: CallLinker): AnnotatedCall {
  const plan = new CallPlan(name, declaration, linker.handles)
  const call = linker.link(plan.signature)
  let background: BackgroundCall | undefined
  const { returns, omitsValue = false } = declaration
  return Object.assign(
    (...values: readonly unknown[]): unknown => {
      if (plan.isShort) {
        const returned = call(...values)
        if (omitsValue) return undefined
        return formed(returned instanceof Returned ? returned.value : returned, returns)
      }
      const mark = slots.mark
      const run = new Run(plan, false)
      try {
        return run.finish(run.call(call, run.prepare(values)))
      } finally {
        slots.release(mark)
        run.end()
      }
    },
    {
      async: async (...values: readonly unknown[]): Promise<unknown> => {
        background ??= linker.link(plan.plainSignature) as AnnotatedCall
        const run = new Run(plan, true)
        try {
          const list = run.prepare(values)
          plan.makeCallbacks(list, linker.callback)
          run.endTaken(background, list)
          return run.finish(await background.async(...list))
        } finally {
          run.end()
        }
      },
    },
  )
}

/** One call. */
class Run {
  readonly #plan: CallPlan
  readonly #isAsync: boolean
  /** The arguments of the caller, in the places of the parameters of C. */
  readonly #given: unknown[] = []
  /** The memory to which C writes, in the same places. */
  readonly #memory: (MemorySegment | undefined)[] = []
  readonly #counts: number[] = []
  #list: unknown[] = []
  #structs: unknown[] = []
  #arena: ConfinedNativeScope | undefined
  /** Makes pointers of addresses that a function in another process has written. */
  #pointerAt: Returned['pointerAt'] | undefined
  #holds: Hold[] | undefined

  constructor(plan: CallPlan, isAsync: boolean) {
    this.#plan = plan
    this.#isAsync = isAsync
  }

  /** Memory that lives as long as the call. */
  get arena(): ConfinedNativeScope {
    return (this.#arena ??= new ConfinedNativeScope(undefined))
  }

  /** Calls C. An error of a callback comes after C has ended, so what C has made is closed. */
  call(call: Call, list: unknown[]): unknown {
    this.endTaken(call, list)
    try {
      return call(...list)
    } catch (error) {
      this.#closeUnused()
      throw error
    }
  }

  /** Ends the handles that the function takes, when nothing else can fail. @throws the errors of all arguments, which end no handle */
  endTaken(call: object, list: unknown[]): void {
    const { taken, parameters, returnsStruct } = this.#plan
    if (taken.length === 0) return
    checkArguments(call, list, this.#isAsync)
    for (const i of taken) handleScopeOf(this.#list[i])?.checkClosable()
    for (const i of taken) {
      const value = this.#list[i]
      const pointer = value instanceof Handle ? detachHandle(value) : value
      const isAddress = (parameters[i] as AnnotatedParameter).is === 'takenAddress' && pointer !== null
      const argument = isAddress ? this.#addressOf(pointer as MemorySegment) : pointer
      this.#list[i] = argument
      list[i + (returnsStruct ? 1 : 0)] = argument
    }
  }

  /** Frees what the call has used. */
  end(): void {
    if (this.#holds) for (const hold of this.#holds) hold.release()
    this.#arena?.close()
  }

  /** The arguments for C. @throws {ArgumentError} for an argument that does not fit */
  prepare(values: readonly unknown[]): unknown[] {
    const { parameters, hasAllocator, returnsStruct, givesPointers, signature } = this.#plan
    let next = hasAllocator ? 1 : 0
    for (let i = 0; i < parameters.length; i++) {
      if (isMade(parameters[i]!)) continue
      const value = values[next++]
      this.#given[i] = Array.isArray(value) ? copyOf(value as unknown[], this.#plan.argumentNames[i]!) : value
    }
    const list = parameters.map((parameter, i) =>
      isAnnotated(parameter) ? this.#argument(parameter, i, values[0]) : this.#given[i],
    )
    if (givesPointers)
      list.forEach((value, i) => {
        if (typeof value === 'string' && signature.parameters![i] === 'text') list[i] = toCString(value, this.arena)
      })
    this.#list = list
    return [...(returnsStruct ? [values[0]] : []), ...list, ...values.slice(next)]
  }

  #argument(parameter: AnnotatedParameter, i: number, allocator: unknown): unknown {
    const { is, type, name, of, elementSize = 1 } = parameter
    const given = this.#given[i]
    switch (is) {
      case 'out':
        return this.#out(parameter, i)
      case 'resultLength':
        return (this.#memory[i] = this.#slot())
      case 'struct':
        return (this.#memory[i] = this.#struct(parameter, i, allocator as AllocatorLike))
      case 'inout': {
        const value = of === undefined ? given : this.#lengthOf(of, elementSize)
        if (type === 'pointer' && value instanceof MemorySegment) return (this.#memory[i] = this.#addressOf(value))
        const memory = (this.#memory[i] = this.#slot())
        writeWritten(type as WrittenType, memory, value)
        return memory
      }
      case 'omit':
        return type === 'bool' ? false : type === 'pointer' || type === 'text' || typeof type !== 'string' ? null : 0
      case 'constant':
        return parameter.constant
      case 'length':
        return this.#lengthOf(of!, elementSize)
      case 'texts':
        return this.#array(given, name, 'texts', (text) =>
          typeof text === 'string' ? toCString(text, this.arena) : text,
        )
      case 'pointers':
        return this.#array(given, name, 'pointers', (value) => value)
      case 'callback':
        if (typeof given !== 'function') return given
        return upcallStub(given as UpcallFunction, parameter.signature!(), this.arena)
      case 'nonnull':
        if (given === null || given === undefined)
          throw wrongType(name, 'memory, because C does not accept null', given)
        return given
      case 'retained':
        if (of === undefined ? typeof given !== 'string' && !ArrayBuffer.isView(given) : this.#keepsNothing(given, of))
          return given
        throw wrongType(
          name,
          'a segment, because C keeps the pointer',
          given,
          'Copy the text to memory that lives long enough: toCString(text, scope).',
        )
      case 'taken':
        return given
      case 'takenAddress':
        if (given === null || given instanceof MemorySegment) return given
        throw wrongType(name, 'a pointer or null', given)
    }
  }

  /** Memory with a pointer, which can be one of another process. */
  #addressOf(pointer: MemorySegment): MemorySegment {
    const place = remotePlaceOf(pointer.block)
    if (place === undefined) {
      const memory = this.#slot()
      writePointer(memory, 0, pointer)
      return memory
    }
    const memory = this.arena.allocate(8, 8)
    memory.setUint64(0, place.address)
    setRemotePointerIn(memory, pointer.block)
    return memory
  }

  /** Whether C gets no pointer to a copy of a text, or no memory to which it can write one. */
  #keepsNothing(text: unknown, of: number): boolean {
    return typeof text !== 'string' || this.#given[of] === null
  }

  #lengthOf(of: number, elementSize: number): number {
    return lengthOf(this.#given[of], elementSize, this.#plan.argumentNames[of]!)
  }

  #slot(): MemorySegment {
    return (this.#isAsync ? undefined : slots.take()) ?? this.arena.allocate(8, 8)
  }

  #out({ type, of, elementSize = 1 }: AnnotatedParameter, i: number): MemorySegment {
    if (of === undefined) return (this.#memory[i] = this.#slot())
    const count = countOf(this.#given[of], elementSize, this.#plan.argumentNames[of]!)
    this.#counts[i] = count
    return (this.#memory[i] = this.arena.allocate(count * sizeOfWritten(type as WrittenType), 8))
  }

  #struct({ struct }: AnnotatedParameter, i: number, allocator: AllocatorLike): MemorySegment {
    const { byteSize, byteAlignment } = struct!
    const memory = allocateFrom(allocator, byteSize, byteAlignment).fill(0)
    this.#structs[i] = struct!.at(memory)
    return memory
  }

  /** An array of pointers, which ends with a null pointer, as C functions without a count expect. */
  #array(given: unknown, name: string, kind: string, convert: (value: unknown) => unknown): MemorySegment | null {
    if (given === null) return null
    if (!Array.isArray(given)) throw wrongType(name, `an array of ${kind} or null`, given)
    const memory = this.arena.allocate((given.length + 1) * 8, 8)
    given.forEach((element: unknown, index) => {
      const value = convert(element)
      const segment = value instanceof Struct ? value.segment : value
      if (segment === null) return
      if (!(segment instanceof MemorySegment))
        throw wrongType(`element ${index} of ${name}`, kind === 'texts' ? 'a text or null' : 'memory or null', element)
      // Memory of the arena ends with the call anyway.
      if (segment.scope !== this.#arena) (this.#holds ??= []).push(segment.pin())
      writePointer(memory, index * 8, segment)
    })
    return memory
  }

  /** The results for the caller. @throws {StatusError} if the function has failed */
  finish(returned: unknown): unknown {
    const { declaration, parameters } = this.#plan
    const { errno = false, status, none, omitsValue = false, returns } = declaration
    if (returned instanceof Returned) this.#pointerAt = returned.pointerAt
    const value = errno || returned instanceof Returned ? (returned as { value: unknown }).value : returned
    const isNone = none?.includes(Number(value)) === true
    if (isNone && omitsValue) {
      this.#closeUnused()
      return null
    }
    if (status !== undefined && !isNone && !isSuccess(status, value)) this.#fail(status, value)
    const results: [name: string, value: unknown][] = []
    try {
      const byteLength = this.#resultLength()
      if (!omitsValue) results.push(['value', this.#formed(value, returns, byteLength)])
      for (let i = 0; i < parameters.length; i++) {
        const parameter = parameters[i]!
        if (!isAnnotated(parameter)) continue
        const { is, name } = parameter
        if (is === 'out') results.push([name, this.#outValue(parameter, i)])
        else if (is === 'struct') results.push([name, this.#structs[i]])
        else if (is === 'inout')
          results.push([name, formed(this.#read(parameter.type as WrittenType, this.#memory[i]!), parameter.value)])
      }
    } catch (error) {
      for (const [, made] of results) if (made instanceof Handle) made[Symbol.dispose]()
      throw error
    }
    if (errno) return { ...Object.fromEntries(results), errno: (returned as { errno: number }).errno }
    return results.length > 1 ? Object.fromEntries(results) : results[0]?.[1]
  }

  #read(type: WrittenType, memory: MemorySegment, byteOffset = 0): unknown {
    if (type !== 'pointer' || this.#pointerAt === undefined) return readWritten(type, memory, byteOffset)
    return this.#pointerAt(memory.getUint64(byteOffset))
  }

  #outValue({ type, value }: AnnotatedParameter, i: number): unknown {
    const memory = this.#memory[i]!
    const written = type as WrittenType
    const count = this.#counts[i]
    if (count === undefined) return this.#formed(this.#read(written, memory), value)
    if (written !== 'pointer' && value === undefined) return memory.toArray(MemoryLayout[written])
    const size = sizeOfWritten(written)
    return Array.from({ length: count }, (_, index) => this.#formed(this.#read(written, memory, index * size), value))
  }

  #formed(value: unknown, form: ValueForm | undefined, byteLength?: number): unknown {
    const handle = form?.handle
    const pointer = value as MemorySegment
    const isMissing = (handle !== undefined || form?.nonnull === true) && pointer.address === 0n
    if (isMissing && form?.nullable !== true) {
      const text = `C returned a null pointer${handle === undefined ? '' : ` instead of a ${handle.class.name}`}`
      throw new StatusError({ name: this.#plan.name, status: undefined, text })
    }
    if (handle === undefined || isMissing) return formed(value, form, byteLength)
    const { close, within, finalize = false } = handle
    const parent = within === undefined ? undefined : this.#given[within]
    return makeHandle(handle.class, pointer, close, { within: parent, finalize, owner: this.#plan.handles })
  }

  /** The size in bytes of the memory that C returns, if a parameter says it. */
  #resultLength(): number | undefined {
    const { parameters, declaration } = this.#plan
    const index = parameters.findIndex((one) => isAnnotated(one) && one.is === 'resultLength')
    if (index === -1) return undefined
    const { type } = parameters[index] as AnnotatedParameter
    const length = Number(readWritten(type as WrittenType, this.#memory[index]!))
    return Math.max(0, length) * (declaration.returns?.elementSize ?? 1)
  }

  #fail(status: StatusForm, value: unknown): never {
    const { name } = this.#plan
    const text = this.#messageOf(status, value)
    const isObject = value instanceof MemorySegment
    const code = isObject ? status.code?.(value) : (value as number | bigint)
    if (isObject) status.release?.(value)
    this.#closeUnused()
    throw new StatusError({ name, status: code, text })
  }

  /** Closes objects that C makes also when there is no result. */
  #closeUnused(): void {
    const { parameters } = this.#plan
    for (let i = 0; i < parameters.length; i++) {
      const parameter = parameters[i]!
      const handle = isAnnotated(parameter) ? parameter.value?.handle : undefined
      if (handle?.evenOnError !== true || this.#counts[i] !== undefined) continue
      const pointer = this.#read('pointer', this.#memory[i]!) as MemorySegment
      if (pointer.address !== 0n) handle.close(pointer)
    }
  }

  #messageOf({ message, otherwise }: StatusForm, value: unknown): string | null | undefined {
    if (message !== undefined && value instanceof MemorySegment) return message(value)
    const subject = this.#subject()
    const text = message !== undefined && subject !== undefined ? message(subject) : undefined
    return text ?? otherwise?.(value as never)
  }

  /** The object whose failure the library explains. */
  #subject(): MemorySegment | undefined {
    const { subject, subjectParent, status } = this.#plan.declaration
    if (subject === undefined) return status?.message?.length === 0 ? MemorySegment.NULL : undefined
    const memory = this.#memory[subject]
    const value = memory === undefined ? this.#list[subject] : this.#read('pointer', memory)
    if (subjectParent !== undefined) return parentOf(value, subjectParent)
    return value instanceof MemorySegment && value.address !== 0n ? value : undefined
  }
}

function isSuccess({ success, atLeast }: StatusForm, value: unknown): boolean {
  if (value instanceof MemorySegment) return value.address === 0n
  const code = Number(value)
  return success === undefined ? code >= (atLeast ?? 0) : success.includes(code)
}
