import { basename, dirname, join, resolve } from 'node:path'
import { firstOf } from '../debug-info/companion-files.ts'
import { openElfFile } from '../debug-info/elf-file.ts'
import { Attribute } from './constants.ts'
import { DwarfFile } from './dwarf-file.ts'
import { openUnit, textOf, type Unit } from './unit.ts'
import { unitsOf } from './units.ts'

/** The bytes to which the compressed sections of a file may expand. Several files are open at a time, and each has one unit. */
const MAX_EXPANDED_BYTES: number = 8 * 1024 * 1024

/** A unit that is in a file of its own, which the owner closes. */
export interface SplitUnit {
  readonly unit: Unit
  close(): void
}

/** The name of the file with the functions of a unit, which `-gsplit-dwarf` writes, or undefined if they are in the unit itself. */
export function splitNameOf(skeleton: Unit): string | undefined {
  const { attributes } = skeleton
  return textOf(skeleton, attributes.get(Attribute.dwoName) ?? attributes.get(Attribute.gnuDwoName))
}

/**
 * Opens the unit of a skeleton in its file (`.dwo`): where the compiler wrote it, in one of the directories, or beside the file with the
 * skeleton. Undefined if no such file has the unit with the same number.
 */
export function openSplitUnit(skeleton: Unit, name: string, directories: readonly string[]): SplitUnit | undefined {
  const folder = dirname(resolve(skeleton.header.file.elf.path))
  const compilation = textOf(skeleton, skeleton.attributes.get(Attribute.compDir)) ?? ''
  const paths = [
    resolve(folder, compilation, name),
    ...[...directories, folder].map((directory) => join(directory, basename(name))),
  ]
  return firstOf(paths, (path) => {
    const elf = openElfFile(path, MAX_EXPANDED_BYTES)
    if (typeof elf === 'string') return undefined
    try {
      const file = new DwarfFile(elf, '.dwo')
      for (const header of unitsOf(file)) {
        if (header.isType) continue
        const unit = openUnit(header, skeleton)
        if (idOf(unit) === idOf(skeleton)) return { unit, close: () => elf.close() }
      }
    } catch (error) {
      elf.close()
      throw error
    }
    elf.close()
    return undefined
  })
}

/** The number that a skeleton and its unit share. */
const idOf = ({ header, attributes }: Unit): string | number | undefined =>
  header.dwoId ?? attributes.get(Attribute.gnuDwoId)?.value
