import { UnsupportedError } from '@tenon/core'
import type { RemoteHost } from '@tenon/core/internal'
import { linkRemote } from '../linker/remote-function.ts'
import { linkByTypes } from '../linker/variadic.ts'
import type { FunctionSignature } from '../linker/signature.ts'
import { annotatedCall, type BackgroundCall } from './annotated-call.ts'
import type { AnnotatedParameter, AnnotatedSignature } from './annotations.ts'
import { type BindSignature, plainSignature } from './bind-signature.ts'
import type { HandleOwner } from './handle-scope.ts'
import { notExported } from './not-exported.ts'
import { Returned } from './returned.ts'

/** A library of a module, as other processes load it. */
export interface RemoteLibrary {
  /** The absolute path. */
  readonly path: string
  exports(name: string): boolean
}

type Call = ((...values: readonly unknown[]) => unknown) & BackgroundCall

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
  link(name: string, signature: BindSignature | AnnotatedSignature, handles: HandleOwner): Call {
    const library = this.#libraries.find((one) => one.exports(name))
    if (library === undefined)
      throw notExported(
        this.#libraries.map(({ path }) => path),
        name,
      )
    const path = library.path === this.#host.path ? undefined : library.path
    if (!('annotated' in signature)) return withoutCallbacks(name, this.#link(name, path, signature))
    for (const parameter of signature.parameters ?? []) {
      const refused = typeof parameter === 'object' && 'is' in parameter ? REFUSED[parameter.is] : undefined
      if (refused !== undefined) throw cannotCross(name, refused)
    }
    const call = annotatedCall(name, signature, {
      link: (typed) => this.#link(name, path, typed, true),
      callback: () => {
        throw cannotCross(name, 'a function')
      },
      handles,
    })
    return withoutCallbacks(name, call)
  }

  #link(name: string, library: string | undefined, signature: BindSignature, keepsPlaces = false): Call {
    const { isVariadic = false, errno: captureErrno = false, names } = signature
    const finish = keepsPlaces
      ? (value: unknown, errno: number, pointerAt: Returned['pointerAt']) => new Returned(value, errno, pointerAt)
      : undefined
    const plain = plainSignature(signature)
    const link = (types: FunctionSignature): Call =>
      linkRemote(this.#host, name, types, { captureErrno }, { library, names, finish }) as unknown as Call
    return isVariadic ? (linkByTypes(plain, link) as unknown as Call) : link(plain)
  }
}

const withoutCallbacks = (name: string, call: Call): Call => {
  const check = (values: readonly unknown[]): readonly unknown[] => {
    if (values.some((value) => typeof value === 'function')) throw cannotCross(name, 'a function')
    return values
  }
  return Object.assign((...values: readonly unknown[]) => call(...check(values)), {
    async: async (...values: readonly unknown[]) => call.async(...check(values)),
  })
}

const USE_OWN = "Import the module a second time, as './module/index.js?own', to use it in this process."

/** Returns the error for an argument that only exists in this process. */
const cannotCross = (name: string, what: string): UnsupportedError =>
  new UnsupportedError(`${name} cannot take ${what} in another process`, { hint: USE_OWN })

/** Returns the error for a part of a library that is not a function. */
export const notAFunction = (what: string): UnsupportedError =>
  new UnsupportedError(`${what} cannot be used in another process, which runs functions only`, {
    hint: `Call a function of the library that does the same. ${USE_OWN}`,
  })
