import { safeParse, type BaseIssue, type GenericSchema, type InferOutput } from 'valibot'

/** The class of the errors for a file. */
type FailureClass = new (
  sentence: string,
  options: { readonly hint?: string; readonly details?: Readonly<Record<string, unknown>>; readonly cause?: unknown },
) => Error

/**
 * Reads the text of a file of JSON that an operator has written.
 *
 * @param path for messages. @param Failure the class of its errors. @param hints instructions for fields, by their names.
 * @throws {Failure} with the field that is missing, unknown or wrong.
 */
export function readJsonFile<Schema extends GenericSchema & { readonly entries: object }>(
  schema: Schema,
  text: string,
  path: string,
  Failure: FailureClass,
  hints: Readonly<Record<string, string>> = {},
): InferOutput<Schema> {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    throw new Failure(`${path} must be JSON: ${(error as Error).message}`, { cause: error })
  }
  const { success, output, issues } = safeParse(schema, json)
  if (success) return output
  const [issue] = issues
  const place = issue.path?.map(({ key }) => String(key)).join('.') ?? 'the file'
  throw new Failure(`${path}: ${describeIssue(place, issue)}`, {
    hint: hints[place] ?? `The fields are ${Object.keys(schema.entries).join(', ')}.`,
    details: { path, field: place },
  })
}

function describeIssue(place: string, { type, expected, received, message }: BaseIssue<unknown>): string {
  // The library names keys that are missing or unknown in its own words.
  if (type === 'strict_object' && expected === 'never') return `there is no field ${place}`
  if (type === 'strict_object' && received === 'undefined') return `the field ${place} is missing`
  // A message of our own, instead of a regular expression.
  if (expected === null || !message.startsWith('Invalid')) return `the field ${place} is not valid. ${message}`
  return `the field ${place} must be of the kind ${expected}, got ${received}`
}
