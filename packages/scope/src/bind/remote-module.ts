import { LoadError, UnsupportedError } from '@tenon/core'
import type { RemoteHost } from '@tenon/core/internal'
import { linkRemote } from '../linker/remote-function.ts'
import type { FunctionSignature, NativeType } from '../linker/signature.ts'
import { MemorySegment } from '../segment/memory-segment.ts'
import { annotatedCall, type BackgroundCall } from './annotated-call.ts'
import type { AnnotatedParameter, AnnotatedSignature } from './annotations.ts'
import type { BindSignature, BindType } from './bind-signature.ts'
import { Returned } from './returned.ts'
import { Struct } from './struct.ts'
import { variadicType } from './variadic.ts'

/** A library of a module, as other processes load it. */
export interface RemoteLibrary {
  /** The absolute path. */
  readonly path: string
  exports(name: string): boolean
}

type Call = ((...values: readonly unknown[]) => unknown) & BackgroundCall

/** The most lists of types for which one variadic function is linked. */
const MOST_LISTS = 64

/** Arguments that are memory of this process. */
const REFUSED: Readonly<Partial<Record<AnnotatedParameter['is'], string>>> = {
  texts: 'an array of texts',
  pointers: 'an array of pointers',
  retained: 'memory that it keeps',
}

/** The functions of a module whose libraries other processes run. */
export class RemoteModule {
  readonly #host: RemoteHost
  readonly #libraries: readonly RemoteLibrary[]

  constructor(host: RemoteHost, libraries: readonly RemoteLibrary[]) {
    this.#host = host
    this.#libraries = libraries
  }

  has(name: string): boolean {
    return this.#libraries.some((library) => library.exports(name))
  }

  /** @throws {LoadError} if no library exports it. @throws {UnsupportedError} if its arguments cannot cross. */
  link(name: string, signature: BindSignature | AnnotatedSignature): Call {
    const library = this.#libraries.find((one) => one.exports(name))
    if (library === undefined) {
      throw new LoadError(`${this.#libraries.map(({ path }) => path).join(', ')} must export ${name}`, {
        hint: 'The library may be older than the header. has(name) tells whether it is there.',
      })
    }
    const path = library.path === this.#host.path ? undefined : library.path
    if (!('annotated' in signature)) return this.#link(name, path, signature)
    for (const parameter of signature.parameters ?? []) {
      const refused = typeof parameter === 'object' && 'is' in parameter ? REFUSED[parameter.is] : undefined
      if (refused !== undefined) throw cannotCross(name, refused)
    }
    const call = annotatedCall(name, signature, {
      link: (typed) => this.#link(name, path, typed, true),
      linkPlain: (typed) => this.#link(name, path, typed, true),
      callback: () => {
        throw cannotCross(name, 'a function')
      },
    })
    return mapArguments(call, (value) => {
      if (typeof value === 'function') throw cannotCross(name, 'a function')
      return value
    })
  }

  #link(name: string, library: string | undefined, signature: BindSignature, keepsPlaces = false): Call {
    const { result = 'void', parameters = [], isVariadic = false, errno: captureErrno = false } = signature
    const finish = keepsPlaces
      ? (value: unknown, errno: number, pointerAt: Returned['pointerAt']) => new Returned(value, errno, pointerAt)
      : undefined
    const plain = { result: plainType(result), parameters: parameters.map(plainType) } as FunctionSignature
    const linkTypes = (types: FunctionSignature): Call =>
      linkRemote(this.#host, name, types, { captureErrno }, { library, finish }) as unknown as Call
    if (isVariadic) return variadic(name, plain, linkTypes)
    return converting(name, linkTypes(plain))
  }
}

const plainType = (type: BindType | 'void'): NativeType | 'void' => (typeof type === 'function' ? 'pointer' : type)

/** Memory of typed arrays and structs is passed as segments. */
const converting = (name: string, call: Call): Call =>
  mapArguments(call, (value) => {
    if (typeof value === 'function') throw cannotCross(name, 'a function')
    if (ArrayBuffer.isView(value)) return MemorySegment.ofBuffer(value)
    return value instanceof Struct ? value.segment : value
  })

const mapArguments = (call: Call, map: (value: unknown) => unknown): Call =>
  Object.assign((...values: readonly unknown[]) => call(...values.map(map)), {
    async: async (...values: readonly unknown[]) => call.async(...values.map(map)),
  })

function variadic(
  name: string,
  { result = 'void', parameters = [] }: FunctionSignature,
  link: (types: FunctionSignature) => Call,
): Call {
  const calls = new Map<string, Call>()
  const fixed = parameters.length + (typeof result === 'object' ? 1 : 0)
  const callFor = (values: readonly unknown[]): [Call, unknown[]] => {
    const rest = values.slice(fixed).map(variadicType)
    const key = rest.map(({ type }) => type).join()
    let call = calls.get(key)
    if (call === undefined) {
      const types = [...parameters, ...rest.map(({ type }) => plainType(type) as NativeType)]
      call = converting(name, link({ result, parameters: types, fixedParameters: parameters.length }))
      if (calls.size >= MOST_LISTS) calls.delete(calls.keys().next().value!)
      calls.set(key, call)
    }
    return [call, [...values.slice(0, fixed), ...rest.map(({ value }) => value)]]
  }
  return Object.assign(
    (...values: readonly unknown[]) => {
      const [call, list] = callFor(values)
      return call(...list)
    },
    {
      async: async (...values: readonly unknown[]) => {
        const [call, list] = callFor(values)
        return call.async(...list)
      },
    },
  )
}

/** What only this process can have was given to a function that runs in another one. */
export const cannotCross = (name: string, what: string): UnsupportedError =>
  new UnsupportedError(`${name} cannot take ${what} in another process`, {
    hint: 'Call it through the module in this process, or pass memory whose size is known.',
  })
