/** Returns names within an edit distance of a third of the length, and names that contain the name, best first. */
export function suggest(name: string, candidates: Iterable<string>, count = 3): string[] {
  const wanted = name.toLowerCase()
  const limit = Math.max(1, Math.floor(wanted.length / 3))
  const ranked: { candidate: string; distance: number }[] = []
  for (const candidate of candidates) {
    const other = candidate.toLowerCase()
    const contained = containsWord(other, wanted)
    const distance = editDistance(wanted, other, limit)
    if (distance <= limit || contained)
      ranked.push({ candidate, distance: contained ? Math.min(distance, limit) : distance })
  }
  ranked.sort(
    (a, b) =>
      a.distance - b.distance || a.candidate.length - b.candidate.length || (a.candidate < b.candidate ? -1 : 1),
  )
  return ranked.slice(0, count).map(({ candidate }) => candidate)
}

/** Whether a name contains another one: from 3 characters at its beginning or behind a separator, and from 4 anywhere. */
function containsWord(name: string, part: string): boolean {
  if (part.length < 3) return false
  const at = name.indexOf(part)
  return at !== -1 && (part.length > 3 || at === 0 || /[^a-z\d]/.test(name[at - 1]!))
}

/** The smallest number of insertions, deletions, replacements and swaps of neighbours; `limit + 1` if it is larger. */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1
  let before: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1]
      let cost = Math.min(row[j - 1]! + 1, previous[j]! + 1, previous[j - 1]! + (same ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cost = Math.min(cost, before[j - 2]! + 1)
      row.push(cost)
    }
    if (Math.min(...row) > limit) return limit + 1
    before = previous
    previous = row
  }
  return previous[b.length]!
}

/** A hint with the names that resemble one, if there are any. @param prefix written before each of them, such as `--` */
export function didYouMean(name: string, candidates: Iterable<string>, prefix = ''): string | undefined {
  const names = suggest(name, candidates).map((one) => prefix + one)
  return names.length === 0 ? undefined : `Did you mean ${names.join(' or ')}?`
}
