import { didYouMean, matches } from '@tenon/build/internal'

import type { BoundHandle, CallPlan, StatusPlan } from '../model/call-plan.ts'
import type { BoundFunction, BoundRecord, FunctionType, Member, Model, Type } from '../model/model.ts'
import { checkNames } from '../model/strip-prefixes.ts'
import {
  type Annotations,
  checkAnnotations,
  type FunctionAnnotation,
  type HandleAnnotation,
  type StatusAnnotation,
} from './annotation-file.ts'
import { AnnotationsError } from './annotations-error.ts'
import { type Callable, callablesOf, functionMembers } from './callables.ts'
import { checkName } from './check-name.ts'
import { AnnotatedConstants } from './annotated-constants.ts'
import { checkClose, closedParameter } from './close-function.ts'
import { isCharacters } from './describe-type.ts'
import { FunctionPlanner, nameOf, pointeeOf, type PlanContext } from './function-plan.ts'
import { parametersOf, parseMessage } from './parse.ts'
import { parseVersion, withoutVersions } from './symbol-versions.ts'

/**
 * Adds to a model how its functions are called by annotations.
 *
 * @throws {AnnotationsError} if an annotation names what the headers do not have, or does not fit, with the nearest name.
 */
export function annotate(model: Model, annotations: Annotations): Model {
  const annotated = new Annotator(model, checkAnnotations(annotations)).annotate()
  checkNames(annotated)
  return annotated
}

interface Handle extends HandleAnnotation {
  readonly path: readonly string[]
}

class Annotator {
  readonly #model: Model
  readonly #annotations: Annotations
  /** The annotations of functions by their names without versions. */
  readonly #byFunction: Readonly<Record<string, FunctionAnnotation>>
  readonly #constants: AnnotatedConstants
  readonly #records: ReadonlyMap<string, BoundRecord>
  readonly #functions: ReadonlyMap<string, BoundFunction>
  readonly #callables: readonly Callable[]
  readonly #handles = new Map<string, Handle>()
  readonly #usedKeys = new Set<string>()

  constructor(model: Model, annotations: Annotations) {
    this.#model = model
    this.#annotations = annotations
    this.#byFunction = withoutVersions(annotations.functions ?? {})
    this.#constants = new AnnotatedConstants(model.constants)
    this.#records = new Map(model.records.map((record) => [record.id, record]))
    this.#functions = new Map(model.functions.map((one) => [one.name, one]))
    this.#callables = callablesOf(model)
  }

  annotate(): Model {
    const { functions = {}, handles = {}, tables = {}, status } = this.#annotations
    for (const [name, handle] of Object.entries(handles)) this.#define(['handles', name], name, handle, handle.type)
    for (const id of Object.keys(tables)) this.#checkTable(id)
    const statusPlan = status && this.#status(['status'], status, undefined)
    const tableStatus = new Map(
      Object.entries(tables).flatMap(([id, table]) =>
        table.status ? [[id, this.#status(['tables', id, 'status'], table.status, id)] as const] : [],
      ),
    )
    for (const name of Object.keys(functions)) this.#checkMatches(name)
    const merged = new Map(this.#callables.map((callable) => [callable.name, this.#merged(callable)]))
    // A function may use a class that a later one defines, so all are planned twice.
    const planAll = (): Map<string, CallPlan> =>
      new Map(
        this.#callables.flatMap((callable) => {
          const plan = this.#plan(callable, merged.get(callable.name))
          return plan ? [[callable.name, plan] as const] : []
        }),
      )
    planAll()
    this.#checkUsed()
    this.#checkHandles()
    const plans = planAll()
    for (const [name, { path, type, close }] of this.#handles)
      for (const one of this.#callables.filter(({ name: full }) => full.split('.').at(-1) === close))
        checkClose([...path, 'close'], {
          handle: name,
          type: type!,
          close: one,
          roles: plans.get(one.name)?.parameters,
        })
    return {
      ...this.#model,
      functions: this.#model.functions.map((one) => withPlan(one, plans.get(one.name), merged.get(one.name)?.rename)),
      records: this.#model.records.map((record) => this.#record(record, plans, tableStatus.get(record.id))),
      handles: [...this.#handles].map(([className, { type }]): BoundHandle => ({ className, type: type! })),
      ...(statusPlan === undefined ? {} : { status: statusPlan }),
    }
  }

  #checkTable(id: string): void {
    const record = this.#records.get(id)
    if (record && functionMembers(record).length > 0) return
    const names = [...this.#records.values()].filter((one) => functionMembers(one).length > 0).map((one) => one.id)
    throw new AnnotationsError(
      ['tables', id],
      record ? 'must be a struct with function pointers' : 'names a struct that the headers do not have',
      didYouMean(id, names),
    )
  }

  #checkMatches(key: string): void {
    const { own: pattern, version } = parseVersion(key)
    if (this.#callables.some(({ name }) => isMatch(pattern, name))) return
    const refusal = this.#model.refused.find(({ name }) => matches(pattern, name))
    if (refusal?.reason === 'not exported' && version !== undefined)
      throw new AnnotationsError(
        ['functions', key],
        `names a symbol that is not exported ${refusal.detail}`,
        'The command objdump -T lists the versions of the symbols of a library.',
      )
    // The library that is installed may lack a function of the headers, which the report names.
    if (refusal) return
    throw new AnnotationsError(
      ['functions', key],
      'names a function that the headers do not have',
      didYouMean(
        pattern,
        this.#callables.map(({ name }) => name),
      ),
    )
  }

  /** The annotations of a function: those of patterns where they fit, and its own. */
  #merged(callable: Callable): FunctionAnnotation | undefined {
    const functions = this.#byFunction
    let merged: FunctionAnnotation | undefined
    for (const [pattern, annotation] of Object.entries(functions)) {
      if (!pattern.endsWith('*') || !isMatch(pattern, callable.name)) continue
      for (const [key, value] of Object.entries(annotation)) {
        const next = { ...merged, [key]: value as unknown } as FunctionAnnotation
        if (!this.#fits(callable, pattern, key, next)) continue
        merged = next
        this.#usedKeys.add(`${pattern} ${key}`)
      }
    }
    const own = Object.hasOwn(functions, callable.name) ? functions[callable.name] : undefined
    if (own?.rename !== undefined) checkName(['functions', callable.name, 'rename'], own.rename)
    return own === undefined ? merged : { ...merged, ...own }
  }

  /** Whether a part of a pattern fits a function. A pattern makes only results of the type int statuses. */
  #fits({ name, type, table }: Callable, pattern: string, key: string, annotation: FunctionAnnotation): boolean {
    if (key === 'return' && annotation.return === 'status' && !isStatusInt(type.result)) return false
    // A close function takes its handle without an annotation of the parameter.
    if (key === 'critical' && closedParameter({ name, type, table }, this.#handles.values()) !== undefined) return false
    try {
      this.#planner(['functions', pattern], { name, type, table }).plan(annotation)
      return true
    } catch (error) {
      if (error instanceof AnnotationsError) return false
      throw error
    }
  }

  /** A part of a pattern that fits no function is a mistake. */
  #checkUsed(): void {
    for (const [pattern, annotation] of Object.entries(this.#byFunction))
      for (const key of pattern.endsWith('*') ? Object.keys(annotation) : [])
        if (!this.#usedKeys.has(`${pattern} ${key}`))
          throw new AnnotationsError(
            ['functions', pattern, key],
            'fits none of the functions of the pattern',
            didYouMean(
              key,
              this.#callables
                .filter(({ name }) => isMatch(pattern, name))
                .flatMap(({ type }) => type.parameters.map(nameOf)),
            ),
          )
  }

  #planner(path: readonly string[], { type, table }: Callable): FunctionPlanner {
    return new FunctionPlanner(path, type, this.#context(table))
  }

  #plan(callable: Callable, annotation: FunctionAnnotation | undefined): CallPlan | undefined {
    const { name, type, table } = callable
    const closes = closedParameter(callable, this.#handles.values())
    const statusType = table === undefined ? undefined : this.#context(table).statusType
    const isStatus = statusType !== undefined && pointeeOf(type.result) === statusType
    const isPlain = annotation === undefined || Object.keys(annotation).every((key) => key === 'rename')
    const own = parametersOf(annotation ?? {})
    const results = this.#handleResults(type).filter((parameter) => !own.has(parameter))
    if (isPlain && closes === undefined && !isStatus && results.length === 0) return undefined
    const path = ['functions', name]
    const parameters = {
      ...Object.fromEntries(results.map((parameter) => [parameter, 'result'])),
      ...(closes === undefined || own.has(closes) ? {} : { [closes]: 'takes' }),
      ...annotation?.parameters,
    }
    return this.#planner(path, callable).plan({ ...annotation, parameters })
  }

  /** The parameters through which C gives handles whose class says so. Arrays that C reads have const elements. */
  #handleResults({ parameters }: FunctionType): string[] {
    return parameters.flatMap((parameter, index) => {
      const { type } = parameter
      const isOut = type.kind === 'pointer' && !type.isConst && type.to.kind === 'pointer' && !type.to.isConst
      const id = isOut ? pointeeOf(type.to) : undefined
      const isResult = [...this.#handles.values()].some((handle) => handle.results === true && handle.type === id)
      return isResult ? [nameOf(parameter, index)] : []
    })
  }

  #context(table: string | undefined): PlanContext {
    const tables = this.#annotations.tables ?? {}
    const ownStatus = table === undefined ? undefined : tables[table]?.status
    const status = ownStatus ?? this.#annotations.status
    const message = status?.message === undefined ? undefined : parseMessage(status.message)
    const messageType = message && this.#find(message.name, ownStatus ? table : undefined)?.type.parameters[0]?.type
    const subjectType = messageType && pointeeOf(messageType)
    const isObject = status !== undefined && status.success === undefined
    return {
      handleOf: (id) => [...this.#handles].find(([, { type }]) => type === id)?.[0],
      handle: (path, name, annotation, type) => this.#define(path, name, annotation, type),
      checkFunction: (path, name) => void this.#get(path, name, table),
      number: (path, value) => this.#constants.number(path, value),
      constant: (path, value) => this.#constants.of(path, value),
      hasLayout: (id) => this.#records.get(id)?.layout !== undefined,
      subject: subjectType === undefined || isObject ? undefined : { type: subjectType, name: message?.argument },
      hasStatus: status !== undefined,
      statusType: isObject ? subjectType : undefined,
      hasOneSuccess: Array.isArray(status?.success) && status.success.length === 1,
    }
  }

  #find(name: string, table: string | undefined): Callable | undefined {
    return (
      (table === undefined ? undefined : this.#callables.find((one) => one.name === `${table}.${name}`)) ??
      this.#callables.find((one) => one.name === name)
    )
  }

  #get(path: readonly string[], name: string, table: string | undefined): Callable {
    const found = this.#find(name, table)
    if (found) return found
    const refusal = this.#model.refused.find((one) => one.name === name)
    throw new AnnotationsError(
      path,
      refusal
        ? `names the function ${name}, which is not bound: ${refusal.reason}`
        : `names the function ${name}, which the headers do not have`,
      didYouMean(name, [
        ...this.#functions.keys(),
        ...this.#callables.flatMap((one) =>
          table !== undefined && one.table === table ? [one.name.slice(table.length + 1)] : [],
        ),
      ]),
    )
  }

  /** Defines a class of handles, or completes it by what another place says. */
  #define(
    path: readonly string[],
    name: string,
    annotation: HandleAnnotation,
    type: string | undefined,
  ): HandleAnnotation {
    checkName(path, name)
    const known = this.#handles.get(name)
    const merged: Handle = { path, ...known, ...annotation, ...(type === undefined ? {} : { type }) }
    for (const key of ['type', 'close', 'within'] as const)
      if (known?.[key] !== undefined && merged[key] !== undefined && known[key] !== merged[key])
        throw new AnnotationsError(
          path,
          `must have the ${key} that the handle ${name} has elsewhere, ${known[key]}, got ${merged[key]}`,
        )
    this.#handles.set(name, merged)
    return merged
  }

  #checkHandles(): void {
    for (const [name, { path, type, close, within }] of this.#handles) {
      if (type === undefined || !this.#records.has(type))
        throw new AnnotationsError(
          [...path, 'type'],
          type === undefined
            ? `is missing: ${name} needs the struct to which it points`
            : `names the struct ${type}, which the headers do not have`,
          type === undefined ? undefined : didYouMean(type, this.#records.keys()),
        )
      if (close === undefined)
        throw new AnnotationsError(path, `must name the function that closes the handle ${name}`, 'Add "close".')
      const tables = new Set(this.#callables.map((one) => one.table))
      const table = [...tables].find(
        (one) => one !== undefined && this.#find(`${one}.${close}`, undefined) !== undefined,
      )
      this.#get([...path, 'close'], close, table)
      if (within !== undefined && this.#annotations.handles?.[name]?.within !== undefined && !this.#handles.has(within))
        throw new AnnotationsError(
          [...path, 'within'],
          `names the handle ${within}, which is not defined`,
          didYouMean(within, this.#handles.keys()),
        )
      if (
        this.#functions.has(name) ||
        this.#records.has(name) ||
        this.#model.constants.some((one) => one.name === name)
      )
        throw new AnnotationsError(
          path,
          `must not be called ${name}, because the headers have a declaration of this name`,
        )
    }
  }

  #status(path: readonly string[], annotation: StatusAnnotation, table: string | undefined): StatusPlan {
    const { success, message, otherwise, code, release } = annotation
    for (const [key, name] of Object.entries({ otherwise, code, release }))
      if (name !== undefined) this.#get([...path, key], name, table)
    return {
      ...(typeof success === 'string' ? { atLeast: Number(/-?\d+$/.exec(success)![0]) } : {}),
      ...(Array.isArray(success)
        ? { success: success.map((one) => this.#constants.number([...path, 'success'], one as number | string)) }
        : {}),
      ...(message === undefined ? {} : { message: this.#message([...path, 'message'], message, table) }),
      ...(otherwise === undefined ? {} : { otherwise }),
      ...(code === undefined ? {} : { code }),
      ...(release === undefined ? {} : { release }),
    }
  }

  #message(path: readonly string[], text: string, table: string | undefined): NonNullable<StatusPlan['message']> {
    const { name, argument, member } = parseMessage(text)
    const { type } = this.#get(path, name, table)
    const [first, ...others] = type.parameters
    if (others.length > 0) throw new AnnotationsError(path, `must be a function of at most one parameter, got ${name}`)
    const names = new Set(this.#callables.flatMap((one) => one.type.parameters.map(nameOf)))
    if (argument !== undefined && !names.has(argument))
      throw new AnnotationsError(
        path,
        `names the parameter ${argument}, which no function has`,
        didYouMean(argument, names),
      )
    const takesSubject = first !== undefined
    if (member === undefined && !isCharacters(type.result))
      throw new AnnotationsError(path, `must be a function that returns a text, got ${name}`)
    if (member === undefined) return { function: name, takesSubject }
    const id = pointeeOf(type.result)
    const members = (id === undefined ? undefined : this.#records.get(id)?.layout?.members) ?? []
    if (id === undefined || !members.some((one) => one.name === member))
      throw new AnnotationsError(
        path,
        `names the member ${member}, which the result of ${name} does not have`,
        didYouMean(
          member,
          members.map((one) => one.name),
        ),
      )
    return { function: name, takesSubject, member: { type: id, name: member } }
  }

  #record(record: BoundRecord, plans: ReadonlyMap<string, CallPlan>, status: StatusPlan | undefined): BoundRecord {
    const { layout, id } = record
    if (!layout || functionMembers(record).length === 0) return record
    const members = layout.members.map((member): Member => {
      const call = plans.get(`${id}.${member.name}`)
      return member.kind === 'field' && call ? { ...member, call } : member
    })
    const isVolatile = this.#annotations.tables?.[id]?.table === 'volatile'
    const table = { isVolatile, ...(status === undefined ? {} : { status }) }
    return { ...record, layout: { ...layout, members }, ...(isVolatile || status ? { table } : {}) }
  }
}

function withPlan(one: BoundFunction, call: CallPlan | undefined, name: string | undefined): BoundFunction {
  const renamed = name === undefined ? one : { ...one, name, symbol: one.symbol ?? one.name, declared: one.name }
  return call === undefined ? renamed : { ...renamed, call }
}

/** Whether a pattern selects a function. Methods of tables have a dot in their names, and so have their patterns. */
const isMatch = (pattern: string, name: string): boolean =>
  name.includes('.') === pattern.includes('.') && matches(pattern, name)

const isStatusInt = (type: Type): boolean => (type.kind === 'scalar' || type.kind === 'enum') && type.as === 'int32'
