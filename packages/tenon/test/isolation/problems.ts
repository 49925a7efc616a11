import { TenonError } from 'tenon'

/** The problems that tries have shown. */
export class Problems {
  readonly list: string[] = []

  add(name: string, problem: unknown): void {
    this.list.push(`${name}: ${problem instanceof Error ? problem.stack : String(problem)}`)
  }

  /** Notes a problem unless the condition holds. */
  check(name: string, condition: boolean, problem: unknown): void {
    if (!condition) this.add(name, problem)
  }

  /**
   * Runs a try that may fail with an error of Tenon, and with no other.
   *
   * @param allowed the classes of errors; by default all of Tenon
   * @returns the error, or undefined if there was none
   */
  async run(name: string, attempt: () => unknown, allowed?: readonly string[]): Promise<TenonError | undefined> {
    try {
      await attempt()
    } catch (error) {
      if (!(error instanceof TenonError)) this.add(name, error)
      else if (allowed?.includes(error.name) === false) this.add(name, error)
      else return error
    }
    return undefined
  }

  /** Runs a try that must fail with an error of one of these classes. */
  async fails(name: string, attempt: () => unknown, ...allowed: readonly string[]): Promise<TenonError | undefined> {
    const { length } = this.list
    const error = await this.run(name, attempt, allowed)
    if (error === undefined && this.list.length === length) this.add(name, `must fail with ${allowed.join(' or ')}`)
    return error
  }
}
