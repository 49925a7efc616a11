import type { BinaryInfo } from '../binary-info.ts'

export type Dependencies = Pick<BinaryInfo, 'arch' | 'bits' | 'needed' | 'rpath' | 'runpath'>

export interface Requester extends Dependencies {
  readonly path: string
  /** The expanded search directories inherited from the files that need this one. */
  readonly inherited: readonly string[]
}

export interface LibrarySearch {
  /** Reads the dependencies of a file. @throws if it cannot be read, or is for another loader. */
  read(path: string): Dependencies
  /** The expanded search directories that the dependencies of a file inherit. */
  handedDown(requester: Requester): readonly string[]
  /** Finds a library. @returns its path, {@link provided}, or undefined. */
  find(name: string, requester: Requester): string | undefined
  /** The path of a library that is loaded already, where the system tells it. */
  loadedPath?(name: string): string | undefined
}

/** Stands for the path of a library that is available without a file: in the system's cache, or loaded already. */
export const provided = ''
