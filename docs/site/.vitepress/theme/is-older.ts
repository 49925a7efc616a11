/** Whether a version such as `0.2.1` or `1.0.0-beta.2` is older than another one, without looking at what is behind the third number. */
export function isOlder(version: string, than: string): boolean {
  const [ours, theirs] = [numbersOf(version), numbersOf(than)]
  const first = [0, 1, 2].find((i) => ours[i] !== theirs[i])
  return first !== undefined && ours[first]! < theirs[first]!
}

const numbersOf = (version: string): number[] => version.split(/[.-]/).map((part) => Number.parseInt(part, 10) || 0)
