import { basename } from 'node:path'
import type { Model } from '@tenon/bind'

/** A line for each declaration that is not bound. A line that is not for all platforms ends with those for which it is. */
export function reportLines(models: readonly Model[]): string[] {
  const lines = new Map<string, string[]>()
  for (const { target, refused } of models)
    for (const { name, reason, detail, place } of refused) {
      const text = `${basename(place.file)}:${place.line} ${name}: ${detail === '' ? reason : `${reason}: ${detail}`}`
      lines.set(text, [...(lines.get(text) ?? []), target])
    }
  return [...lines].map(([text, targets]) =>
    targets.length === models.length ? text : `${text} (${targets.join(', ')})`,
  )
}

/** How many declarations of each kind are bound, and how many are not. @param addition a text behind those that are bound */
export function summaryOf(
  { functions, constants, records, variables, refused, handles = [] }: Model,
  addition = '',
): string {
  const structs = records.filter(({ layout }) => layout !== undefined).length
  const counts = [
    [functions.length, 'function'],
    [constants.length, 'constant'],
    [structs, 'struct'],
    [variables.length, 'variable'],
    [handles.length, 'handle'],
  ] as const
  const bound = counts
    .filter(([count]) => count > 0)
    .map(([count, name]) => `${count} ${name}${count === 1 ? '' : 's'}`)
  const left = refused.length === 0 ? '' : `; ${refused.length} not bound (--report lists them)`
  const isWrong = functions.length === 0 && refused.some(({ reason }) => reason === 'not exported')
  const none = isWrong ? '; the library exports none of the functions: is it that of these headers?' : ''
  return `${bound.length === 0 ? 'nothing' : bound.join(', ')}${addition}${left}${none}`
}

/** The text of each exported declaration of an `index.d.ts` by its name. */
export function declarationsOf(text: string): Map<string, string> {
  const declarations = new Map<string, string>()
  for (const part of text.split(/^(?=export )/m)) {
    const name = /^export (?:declare )?(?:const|class|function|type) ([\p{ID_Continue}$]+)/u.exec(part)?.[1]
    if (name !== undefined) declarations.set(name, part.replace(/\/\*\*[^]*$/, '').trim())
  }
  return declarations
}
