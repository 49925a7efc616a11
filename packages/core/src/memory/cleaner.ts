/**
 * Frees resources whose owners were collected unclosed. It is a safety net: nobody knows when the garbage collector
 * runs, so whatever has a `close()` is forgotten here when it is closed.
 */
export class Cleaner<Resource> {
  readonly #registry: FinalizationRegistry<Resource>

  /**
   * @param free frees one resource. It must not reach the owner. An error that it throws has no caller, so it becomes an
   * uncaught exception.
   */
  constructor(free: (resource: Resource) => void) {
    this.#registry = new FinalizationRegistry((resource) => {
      try {
        free(resource)
      } catch (error) {
        queueMicrotask(() => {
          throw error
        })
      }
    })
  }

  /** Frees the resource when `owner` is collected, unless `token` is {@link forget forgotten} before. */
  watch(owner: object, resource: Resource, token?: object): void {
    this.#registry.register(owner, resource, token)
  }

  /** Leaves the resource alone, because somebody else frees it. */
  forget(token: object): void {
    this.#registry.unregister(token)
  }
}
