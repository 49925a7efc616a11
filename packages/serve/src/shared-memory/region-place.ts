import type { Caller } from '../access/caller.ts'
import { InvalidRequestError } from '../errors.ts'
import type { Region } from './region.ts'
import type { Regions } from './regions.ts'

/** A part of a region that a tensor of a request names. */
export interface RegionRange {
  readonly region: string
  /** In bytes from the start of the region. */
  readonly offset: number
  readonly byteSize: number
}

/** The places of one request in regions. They keep the regions open until {@link release}. */
export class RegionPlaces {
  readonly #regions: Regions
  readonly #caller: Caller
  readonly #acquired: Region[] = []

  /** @param caller needs the permission `shared-memory`, because regions belong to the server. */
  constructor(regions: Regions, caller: Caller) {
    this.#regions = regions
    this.#caller = caller
  }

  /** @throws {InvalidRequestError} for an unknown region, or a range beyond its end. @throws {PermissionDeniedError} */
  acquire({ region: name, offset, byteSize }: RegionRange): Region {
    this.#caller.check('shared-memory')
    const region = this.#regions.acquire(name)
    this.#acquired.push(region)
    const { byteSize: most } = region.registration
    if (offset + byteSize <= most) return region
    throw new InvalidRequestError(
      `the shared memory of a tensor must end within the ${most} bytes of the region ${name}, got ${offset + byteSize}`,
    )
  }

  release(): void {
    while (this.#acquired.length > 0) this.#acquired.pop()!.release()
  }
}
