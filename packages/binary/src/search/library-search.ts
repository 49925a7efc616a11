/** What one file says about the libraries it needs. */
export interface Dependencies {
  readonly arch: string
  readonly bits: 32 | 64
  readonly needed: readonly string[]
  readonly rpath: readonly string[]
  readonly runpath: readonly string[]
}

/** A file that asks for libraries, and what it was asked by. */
export interface Requester extends Dependencies {
  readonly path: string
  /** Search directories that the files which asked for this one hand down, already expanded. */
  readonly inherited: readonly string[]
}

/** How one system's loader looks for libraries. */
export interface LibrarySearch {
  /** @throws if the file can't be read, or isn't for this loader */
  read(path: string): Dependencies
  /** The search directories of a file that its own dependencies inherit, expanded. */
  handedDown(requester: Requester): readonly string[]
  /** The path of the library, `provided` if the system has it without a file, or undefined. */
  find(name: string, requester: Requester): string | undefined
}

/** A library that is there without a file of its own: in the system's cache, or loaded already. */
export const provided = ''
