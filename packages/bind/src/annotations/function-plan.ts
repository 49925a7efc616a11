import { didYouMean } from '@tenon/build/internal'

import type { CallPlan, HandlePlan, ParameterRole, ValuePlan } from '../model/call-plan.ts'
import type { Constant } from '../model/constant.ts'
import type { FunctionType, Parameter, Type } from '../model/model.ts'
import type { FunctionAnnotation, HandleAnnotation, ParameterAnnotation, ValueAnnotation } from './annotation-file.ts'
import { AnnotationsError } from './annotations-error.ts'
import { constantFor } from './constant-for.ts'
import { describeType, isCharacters, isInteger } from './describe-type.ts'
import { parametersOf, parseCall } from './parse.ts'

/** The handles and statuses of the annotations, as one function needs them. */
export interface PlanContext {
  /** The class of handles of a struct, if there is one. */
  handleOf(type: string): string | undefined
  /** Defines a class of handles, or completes it. */
  handle(
    path: readonly string[],
    name: string,
    annotation: HandleAnnotation,
    type: string | undefined,
  ): HandleAnnotation
  /** @throws {AnnotationsError} if there is no such function. */
  checkFunction(path: readonly string[], name: string): void
  /** The value of a status, which may be the name of a constant. */
  number(path: readonly string[], value: number | string): number
  /** The value of an annotation, which may be the name of a constant. @throws {AnnotationsError} if there is no such constant */
  constant(path: readonly string[], value: number | boolean | string): Constant
  /** Whether the headers have the members of a struct. */
  hasLayout(id: string): boolean
  /** The parameter whose failure the library explains, by the struct it points to; undefined if its message needs no argument. */
  readonly subject: { readonly type: string; readonly name: string | undefined } | undefined
  readonly hasStatus: boolean
  /** The struct to which a status points, if statuses are objects. */
  readonly statusType: string | undefined
  /** Whether a status of success says nothing more. */
  readonly hasOneSuccess: boolean
}

const PLAIN: ValuePlan = { form: 'plain', isNullable: false, isNonnull: false }

/** The name of a parameter in annotations. */
export const nameOf = ({ name }: Parameter, index: number): string => name ?? `a${index}`

/** The struct to which a pointer points. */
export const pointeeOf = (type: Type): string | undefined =>
  type.kind === 'pointer' && type.to.kind === 'record' ? type.to.id : undefined

/**
 * Turns the annotations of one function into a plan of its calls.
 *
 * @throws {AnnotationsError} if an annotation does not fit the function. A pattern of functions is applied where it fits instead.
 */
export class FunctionPlanner {
  readonly #path: readonly string[]
  readonly #type: FunctionType
  readonly #context: PlanContext
  readonly #names: readonly string[]

  constructor(path: readonly string[], type: FunctionType, context: PlanContext) {
    this.#path = path
    this.#type = type
    this.#context = context
    this.#names = type.parameters.map(nameOf)
  }

  plan(annotation: FunctionAnnotation): CallPlan {
    const { result: resultType, parameters } = this.#type
    const annotations = parametersOf(annotation)
    for (const name of annotations.keys()) this.#indexOf(name, [name])
    const roles = parameters.map((parameter, i) =>
      this.#role(parameter, this.#names[i]!, annotations.get(this.#names[i]!), annotation),
    )
    if (annotation.critical === true) this.#checkCritical(roles)
    const results = roles.filter(({ kind }) => kind === 'out' || kind === 'struct' || kind === 'inout')
    const { value: valueAnnotation, isStatus } = this.#valueAnnotation(annotation, roles)
    const omits = resultType.kind === 'void' || valueAnnotation === 'omit'
    const { hasOneSuccess, subject, statusType } = this.#context
    const isObject = statusType !== undefined
    const hasNone = typeof valueAnnotation === 'object' && valueAnnotation.none !== undefined
    return {
      parameters: roles,
      value: omits || isStatus ? PLAIN : this.#value(resultType, valueAnnotation, ['return'], false),
      omitsValue: omits || (isStatus && (results.length > 0 || (hasOneSuccess && !hasNone) || isObject)),
      isAsync: annotation.async === true,
      errno: annotation.errno === true,
      isCritical: annotation.critical === true,
      ...(isStatus ? { status: { ...this.#subject(roles, subject), ...this.#none(valueAnnotation) } } : {}),
    }
  }

  #error(path: readonly string[], message: string, hint?: string): AnnotationsError {
    return new AnnotationsError([...this.#path, ...path], message, hint)
  }

  /** @throws {AnnotationsError} for a function that cannot keep the promise of a critical one. */
  #checkCritical(roles: readonly ParameterRole[]): void {
    const callback = this.#type.parameters.findIndex(
      ({ type }) => type.kind === 'pointer' && type.to.kind === 'function',
    )
    if (callback !== -1)
      throw this.#error(
        ['critical'],
        `must be a function that calls no function of TypeScript, but ${this.#names[callback]!} is a callback`,
      )
    const ended = roles.findIndex(({ kind }) => kind === 'taken' || kind === 'takenAddress')
    if (ended === -1) return
    throw this.#error(
      ['critical'],
      `must be a function that ends no object, but it closes ${this.#names[ended]!}`,
      'What an object does at its end can call functions of TypeScript, and need more stack.',
    )
  }

  /** The annotation of what C returns. Without an out parameter, `result` describes it. */
  #valueAnnotation(
    { return: returned, result }: FunctionAnnotation,
    roles: readonly ParameterRole[],
  ): { readonly value: ValueAnnotation | undefined; readonly isStatus: boolean } {
    const { result: type } = this.#type
    const { statusType, hasStatus } = this.#context
    const hasOut = roles.some(({ kind }) => kind === 'out')
    const value = returned ?? (hasOut ? undefined : result)
    const isStatusObject = statusType !== undefined && pointeeOf(type) === statusType
    const isStatus = value === 'status' || (typeof value === 'object' && value.none !== undefined)
    if (!isStatus) return { value, isStatus: value === undefined && isStatusObject }
    if (!hasStatus)
      throw this.#error(
        ['return'],
        'is a status, but the annotations do not say which statuses are success',
        'Add "status": { "success": [0] }.',
      )
    if (!isInteger(type) && !isStatusObject)
      throw this.#error(['return'], `must be an integer to be a status, got ${describeType(type)}`)
    return { value, isStatus: true }
  }

  #none(value: ValueAnnotation | undefined): { readonly none?: readonly number[] } {
    if (typeof value !== 'object' || value.none === undefined) return {}
    return { none: value.none.map((one) => this.#context.number([...this.#path, 'return', 'none'], one)) }
  }

  #indexOf(name: string, path: readonly string[]): number {
    const index = this.#names.indexOf(name)
    if (index !== -1) return index
    throw this.#error(
      path,
      `names the parameter ${name}, which the function does not have`,
      didYouMean(name, this.#names) ?? `Its parameters are ${this.#names.join(', ') || 'none'}.`,
    )
  }

  #role(
    { type }: Parameter,
    name: string,
    annotation: ParameterAnnotation | undefined,
    whole: FunctionAnnotation,
  ): ParameterRole {
    if (annotation === undefined || annotation === 'plain') return { kind: 'argument', isNonnull: false }
    if (typeof annotation === 'object') {
      if ('result' in annotation) return this.#out(type, name, annotation.result)
      if ('value' in annotation) return this.#constant(type, name, annotation.value)
      if ('results' in annotation) return this.#results(type, name, annotation.results, annotation.each)
      return this.#inout(type, name, parseCall(annotation.inout).argument)
    }
    const { word, argument } = parseCall(annotation)
    switch (word) {
      case 'result':
        return this.#out(type, name, whole.result)
      case 'results':
        return this.#results(type, name, argument!, whole.result)
      case 'inout':
        return this.#inout(type, name, undefined)
      case 'length':
      case 'count':
        if (!isInteger(type)) throw this.#error([name], `must be an integer to be a length, got ${describeType(type)}`)
        return { kind: 'length', of: this.#indexOf(argument!, [name]) }
      case 'length-of-result':
        if (type.kind !== 'pointer' || !isInteger(type.to))
          throw this.#error([name], `must be a pointer to an integer, got ${describeType(type)}`)
        if (this.#type.result.kind !== 'pointer') throw this.#error([name], 'needs a function that returns a pointer')
        return { kind: 'resultLength' }
      case 'texts':
      case 'pointers':
        if (type.kind !== 'pointer' || type.to.kind !== 'pointer')
          throw this.#error([name], `must be an array of pointers, got ${describeType(type)}`)
        return { kind: word }
      case 'text':
        if (!isCharacters(type)) throw this.#error([name], `must be a pointer to characters, got ${describeType(type)}`)
        return { kind: 'argument', as: 'text', isNonnull: false }
      case 'call':
        if (type.kind !== 'pointer' || type.to.kind !== 'function')
          throw this.#error([name], `must be a pointer to a function, got ${describeType(type)}`)
        return { kind: 'callback' }
      case 'omit':
        if (type.kind === 'record')
          throw this.#error([name], `must be a scalar or a pointer, got ${describeType(type)}`)
        return { kind: 'omit' }
    }
    if (type.kind !== 'pointer') throw this.#error([name], `must be a pointer, got ${describeType(type)}`)
    if (word === 'retains') return { kind: 'retained' }
    if (word === 'takes') return { kind: pointeeOf(type.to) === undefined ? 'taken' : 'takenAddress' }
    return word === 'pointer'
      ? { kind: 'argument', as: 'pointer', isNonnull: false }
      : { kind: 'argument', isNonnull: true }
  }

  #constant(type: Type, name: string, value: number | boolean | string): ParameterRole {
    const constant = constantFor(type, this.#context.constant([...this.#path, name], value))
    if (constant !== undefined) return { kind: 'constant', constant }
    throw this.#error([name], `must have a value that fits ${describeType(type)}, got ${JSON.stringify(value)}`)
  }

  #out(type: Type, name: string, annotation: ValueAnnotation | undefined): ParameterRole {
    if (type.kind !== 'pointer' || type.to.kind === 'void' || type.to.kind === 'function')
      throw this.#error([name], `must be a pointer to be a result, got ${describeType(type)}`)
    if (type.to.kind === 'record') {
      const { id } = type.to
      if (this.#context.hasLayout(id)) return { kind: 'struct', id }
      throw this.#error([name], `must point to a type with a size, got the opaque ${id}`)
    }
    return { kind: 'out', value: this.#value(type.to, annotation, [name], true) }
  }

  #results(type: Type, name: string, of: string, each: ValueAnnotation | undefined): ParameterRole {
    const role = this.#out(type, name, each)
    const index = this.#indexOf(of, [name])
    if (role.kind !== 'out') throw this.#error([name], 'must be an array of scalars or pointers to be results')
    return { ...role, of: index }
  }

  #inout(type: Type, name: string, of: string | undefined): ParameterRole {
    const isWritable =
      type.kind === 'pointer' && (isInteger(type.to) || type.to.kind === 'scalar' || type.to.kind === 'pointer')
    if (!isWritable) throw this.#error([name], `must be a pointer to a scalar or a pointer, got ${describeType(type)}`)
    return { kind: 'inout', ...(of === undefined ? {} : { of: this.#indexOf(of, [name]) }) }
  }

  #value(type: Type, annotation: ValueAnnotation | undefined, path: readonly string[], isOut: boolean): ValuePlan {
    const { handleOf, handle: define, checkFunction } = this.#context
    const isPointer = type.kind === 'pointer'
    const pointee = pointeeOf(type)
    if (annotation === undefined || annotation === 'plain') {
      // A library gives an object of its own through an out parameter, and often a borrowed one as its result.
      const className = isOut && annotation === undefined && pointee !== undefined ? handleOf(pointee) : undefined
      return className === undefined ? PLAIN : this.#handle(path, className, {}, pointee)
    }
    if (annotation === 'number') {
      if (isInteger(type)) return { ...PLAIN, form: 'number' }
      throw this.#error(path, `must be an integer to be a number, got ${describeType(type)}`)
    }
    if (!isPointer) throw this.#error(path, `must be a pointer, got ${describeType(type)}`)
    if (annotation === 'nullable') return { ...PLAIN, isNullable: true }
    if (annotation === 'nonnull') return { ...PLAIN, isNonnull: true }
    if (annotation === 'pointer') return { ...PLAIN, form: 'pointer' }
    const isText = annotation === 'text' || (typeof annotation === 'object' && annotation.text === true)
    if (isText && !isCharacters(type) && type.to.kind !== 'void')
      throw this.#error(path, `must be a pointer to characters to be text, got ${describeType(type)}`)
    if (typeof annotation !== 'object') return { ...PLAIN, form: 'text' }
    const { free, nullable = false, handle, close, within, evenOnError, finalize } = annotation
    if (free !== undefined) checkFunction([...this.#path, ...path, 'free'], free)
    if (isText) return { ...PLAIN, form: 'text', ...(free === undefined ? {} : { free }) }
    if (handle === undefined) {
      if (nullable) return { ...PLAIN, isNullable: true }
      throw this.#error(
        path,
        'must be a text or a handle',
        'Add "text": true, or "handle" with the name of a class and "close".',
      )
    }
    if (pointee === undefined)
      throw this.#error(path, `must be a pointer to a struct to be a handle, got ${describeType(type)}`)
    define([...this.#path, ...path], handle, without({ close, finalize }), pointee)
    const own = without({ within, evenOnError, nullable: nullable ? (true as const) : undefined })
    return this.#handle(path, handle, own, pointee)
  }

  #handle(
    path: readonly string[],
    className: string,
    own: Pick<HandleAnnotation, 'within' | 'evenOnError' | 'nullable'>,
    pointee: string | undefined,
  ): ValuePlan {
    const known = this.#context.handle([...this.#path, ...path], className, {}, pointee)
    const within =
      own.within === undefined ? this.#parentOf(known.within) : this.#indexOf(own.within, [...path, 'within'])
    const handle: HandlePlan = {
      className,
      close: known.close!,
      ...(within === undefined ? {} : { within }),
      isEvenOnError: own.evenOnError ?? known.evenOnError ?? false,
      isFinalized: known.finalize ?? false,
    }
    return { form: 'handle', isNullable: own.nullable ?? known.nullable ?? false, isNonnull: false, handle }
  }

  /** The first parameter that takes a handle of a class. */
  #parentOf(className: string | undefined): number | undefined {
    if (className === undefined) return undefined
    const index = this.#type.parameters.findIndex(({ type }) => {
      const pointee = pointeeOf(type)
      return pointee !== undefined && this.#context.handleOf(pointee) === className
    })
    return index === -1 ? undefined : index
  }

  /** The parameter whose failure the library explains: that with the name of the annotation, or with the type that its function takes. */
  #subject(roles: readonly ParameterRole[], subject: PlanContext['subject']): NonNullable<CallPlan['status']> {
    if (subject === undefined) return {}
    const { parameters } = this.#type
    const candidates = parameters.flatMap(({ type }, index) =>
      pointsTo(type, subject.type, roles[index]!) ? [index] : [],
    )
    const index = candidates.find((one) => this.#names[one] === subject.name) ?? candidates[0]
    if (index !== undefined) return { subject: index }
    const parent = this.#context.handleOf(subject.type)
    const child = parameters.findIndex(({ type }, i) => roles[i]!.kind === 'argument' && this.#isHandle(type))
    return child === -1 || parent === undefined ? {} : { subject: child, subjectParent: parent }
  }

  #isHandle(type: Type): boolean {
    const pointee = pointeeOf(type)
    return pointee !== undefined && this.#context.handleOf(pointee) !== undefined
  }
}

const pointsTo = (type: Type, id: string, { kind }: ParameterRole): boolean =>
  (kind === 'argument' && pointeeOf(type) === id) ||
  (kind === 'out' && type.kind === 'pointer' && pointeeOf(type.to) === id)

/** An object without the members that are undefined. */
function without<Value extends object>(value: Value): { [Key in keyof Value]?: NonNullable<Value[Key]> } {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as {
    [Key in keyof Value]?: NonNullable<Value[Key]>
  }
}
