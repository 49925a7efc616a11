import { checkOptions, globalGate, inspectAsText, samePointer } from '@tenon/core/internal'
import { checkBoolean, checkFunction } from '../check.ts'
import { checkSegment, MemorySegment, newSegment } from '../segment/memory-segment.ts'
import { type CloseFunction, type HandleOwner, HandleScope } from './handle-scope.ts'

/** A class of handles. `tenon bind` writes one for each kind of object that the annotations name. */
export type HandleClass<Made extends Handle = Handle> = new (
  ...memory: ConstructorParameters<typeof MemorySegment>
) => Made

/** Options of {@link Handle.own}. */
export interface OwnOptions {
  /** The object within which this one lives, which closes it before itself. Memory that is not a handle is no such object. */
  readonly within?: MemorySegment | null
  /** Whether the garbage collector closes a handle that was forgotten. An error is a warning then. Use this only as a safety net. */
  readonly finalize?: boolean
}

/**
 * A pointer to an object of a C library that closes it. Every function that takes the pointer takes the handle.
 *
 * | when                                     | effect                                                                |
 * | ---------------------------------------- | --------------------------------------------------------------------- |
 * | `close()`, or the end of a `using` block | closes the handles within this one, the newest first, then the object |
 * | a call that uses the object is running   | `close()` throws `ScopeHeldError` and closes nothing                  |
 * | a use after that                         | throws `ScopeClosedError`                                             |
 * | its module closes                        | closes the handle first, if a function of the module has made it      |
 * | the handle is forgotten                  | the object stays open, unless it was made with `finalize`             |
 *
 * `tenon bind` writes a subclass for each kind of object that the annotations of a module name.
 *
 * @example
 * import { Handle } from '@tenon/scope/bind'
 * import { Linker, SymbolLookup } from '@tenon/scope/linker'
 *
 * class Memory extends Handle {}
 * const libc = SymbolLookup.ofProcess()
 * const malloc = Linker.downcall(libc.get('malloc'), { result: 'pointer', parameters: ['uint64'] })
 * const free = Linker.downcall(libc.get('free'), { parameters: ['pointer'] })
 * using memory = Memory.own(malloc(100), free)
 * memory.reinterpret(100).fill(0)
 */
export abstract class Handle extends MemorySegment {
  /**
   * Makes a handle of a pointer that C has returned.
   *
   * @param close the C function that closes the object. It is called once, with the pointer.
   * @throws {ScopeClosedError} if the object within which this one lives is closed. This one is closed at once then.
   */
  static own<Made extends Handle>(
    this: HandleClass<Made>,
    pointer: MemorySegment,
    close: CloseFunction,
    options?: OwnOptions,
  ): Made {
    checkSegment(pointer, 'pointer')
    checkFunction(close, 'close')
    const { within, finalize } = checkOptions(options, ['within', 'finalize'])
    checkBoolean(finalize, 'finalize')
    return makeHandle(this, pointer, close, {
      within: within ?? null,
      finalize: finalize === true,
      owner: undefined,
    })
  }

  /**
   * Closes the object, once.
   *
   * @throws {ScopeHeldError} while a call uses it. @throws {ScopeClosedError} if it is closed already. @throws the error of the C function.
   */
  close(): void {
    scopeOf(this).close()
  }

  /** Closes the object if it is open. @throws as {@link close} */
  [Symbol.dispose](): void {
    scopeOf(this)[Symbol.dispose]()
  }

  override toString(): string {
    const { isAlive } = scopeOf(this)
    return `${this.constructor.name} at 0x${this.address.toString(16)}${isAlive ? '' : ', closed'}`
  }

  static {
    inspectAsText(Handle)
  }
}

const scopeOf = (handle: Handle): HandleScope => handle.scope as HandleScope

/** The scope of a handle. Undefined for other memory. */
export const handleScopeOf = (value: unknown): HandleScope | undefined =>
  value instanceof Handle ? scopeOf(value) : undefined

/** The nearest object of a class within which a handle lives. */
export function parentOf(value: unknown, Class: HandleClass): MemorySegment | undefined {
  for (let scope = handleScopeOf(value)?.within; scope !== undefined; scope = scope.within)
    if (scope.Class === Class) return scope.pointer
  return undefined
}

/** Makes a handle without checks. If the object within which it lives has ended, the new one is closed at once. */
export function makeHandle<Made extends Handle>(
  Class: HandleClass<Made>,
  pointer: MemorySegment,
  close: CloseFunction,
  {
    within,
    finalize,
    owner,
  }: { readonly within: unknown; readonly finalize: boolean; readonly owner: HandleOwner | undefined },
): Made {
  let scope: HandleScope
  try {
    scope = new HandleScope({ pointer, close, Class, within: handleScopeOf(within), finalize, owner })
  } catch (error) {
    close(pointer)
    throw error
  }
  return new Class(samePointer(scope.gate, pointer.block, pointer.base), 0, 0, 0)
}

/**
 * Ends a handle whose object a C function is about to close.
 *
 * @returns the pointer for that function. @throws {ScopeHeldError | ScopeClosedError} as `close()`
 */
export function detachHandle(handle: Handle): MemorySegment {
  const scope = scopeOf(handle)
  const pointer = newSegment(samePointer(globalGate, handle.block, handle.base), 0, 0, 0)
  scope.closeWithout()
  return pointer
}
