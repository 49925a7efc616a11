/**
 * The subset of JSON Schema in which the form of annotations is written. The checker reads it, and `bind.schema.json` is its text, so editors
 * and `tenon bind` accept the same files.
 */
export interface Schema {
  readonly description?: string
  readonly type?: 'object' | 'string' | 'boolean' | 'integer' | 'number' | 'array'
  readonly const?: unknown
  readonly enum?: readonly string[]
  readonly pattern?: string
  /** Texts that fit the pattern. */
  readonly examples?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  /** The schema of members with other names, or false if there must not be any. */
  readonly additionalProperties?: Schema | false
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  /** The name of one of the definitions, as `#/$defs/name`. */
  readonly $ref?: string
}

const object = (
  description: string,
  properties: Readonly<Record<string, Schema>>,
  others: Schema | false = false,
): Schema => ({ description, type: 'object', properties, additionalProperties: others })
const map = (description: string, of: string): Schema => ({
  description,
  type: 'object',
  additionalProperties: { $ref: `#/$defs/${of}` },
})
const text = (description: string): Schema => ({ description, type: 'string' })
const flag = (description: string): Schema => ({ description, const: true })
const ref = (name: string, description: string): Schema => ({ description, $ref: `#/$defs/${name}` })

/** Numbers, or names of constants. */
const STATUSES: Schema = { type: 'array', items: { anyOf: [{ type: 'integer' }, { type: 'string' }] } }

/** The name of another parameter, in parentheses behind a word of an annotation. */
const PARAMETER = '\\(([^\\s()]+)\\)'

const definitions: Readonly<Record<string, Schema>> = {
  function: object(
    'A function, or a pattern of functions with a final *.',
    {
      return: ref('value', 'the value that C returns'),
      result: ref(
        'value',
        'the value that the call gives: that of the only parameter "result", or the one that C returns',
      ),
      async: flag('adds .async, which runs in a thread of its own and returns a promise'),
      errno: flag('the call gives an object with value and errno'),
      critical: flag(
        'the function is small and calls no function of TypeScript, so it runs on the stack of JavaScript',
      ),
      rename: text('the name in the module'),
      parameters: map('parameters whose names are also names of this object', 'parameter'),
    },
    { $ref: '#/$defs/parameter' },
  ),
  parameter: {
    description: 'A parameter of C; one without a name is called by its position, a0 or a1.',
    anyOf: [
      {
        type: 'string',
        pattern: `^(?:result|results${PARAMETER}|inout|omit|length${PARAMETER}|count${PARAMETER}|length-of-result|texts|pointers|text|pointer|nonnull|retains|call|takes|plain)$`,
        examples:
          'result results(p) inout omit length(p) count(p) length-of-result texts pointers text pointer nonnull retains call takes plain'.split(
            ' ',
          ),
      },
      object('A result of its own form.', { result: ref('value', 'the value that C writes') }),
      object('Several results.', {
        results: text('the parameter whose elements C writes a value for, or that is the number of values'),
        each: ref('value', 'each of the values'),
      }),
      object('A value that the caller does not pass.', {
        value: {
          description: 'a number, true, false, or the name of a constant of the headers; -1 is also that of a pointer',
          anyOf: [{ type: 'integer' }, { type: 'number' }, { type: 'boolean' }, { type: 'string' }],
        },
      }),
      object('A value that C reads and writes.', {
        inout: {
          description: 'the value that C reads',
          type: 'string',
          pattern: `^length${PARAMETER}$`,
          examples: ['length(p)'],
        },
      }),
    ],
  },
  value: {
    description: 'A value that C gives.',
    anyOf: [
      { type: 'string', enum: ['plain', 'text', 'pointer', 'number', 'nullable', 'nonnull', 'omit', 'status'] },
      object('A value of its own form.', {
        text: flag('the text at the pointer'),
        free: text('the function that frees the text after it has been copied'),
        nullable: flag('a null pointer is null'),
        none: {
          ...STATUSES,
          description: 'the statuses of success without a result, for which the call gives null',
        },
        handle: text('the class of the handle'),
        close: text('the function that closes the object'),
        within: text('the parameter whose object closes this one before itself'),
        evenOnError: flag('C gives an object that must be closed also when the call fails'),
        finalize: flag('the garbage collector closes a handle that was forgotten'),
      }),
    ],
  },
  handle: object('A class of handles for all results of its type.', {
    type: text('the name of the struct to which the pointer points'),
    close: text('the function that closes the object'),
    within: text('the class of handles whose object closes this one before itself'),
    evenOnError: flag('C gives an object that must be closed also when the call fails'),
    finalize: flag('the garbage collector closes a handle that was forgotten'),
    nullable: flag('a null pointer is null'),
    results: flag('every parameter that points to such a pointer is a result'),
  }),
  status: object('The statuses that functions return.', {
    success: {
      description: 'the statuses that are success, or the lowest one as ">= 0"',
      anyOf: [STATUSES, { type: 'string', pattern: '^>= ?(-?\\d+)$', examples: ['>= 0'] }],
    },
    message: {
      description:
        'the function that gives the text of a failure, such as sqlite3_errmsg(db), or the member of the struct that it gives',
      type: 'string',
      pattern: '^([^\\s().]+)(?:\\(([^\\s()]*)\\))?(?:\\.([^\\s().]+))?$',
      examples: ['f', 'f(parameter)', 'f().member'],
    },
    otherwise: text('the function that gives the text of a status'),
    code: text('the function that gives the number of a status that is an object'),
    release: text('the function that frees a status that is an object'),
  }),
  table: object('A struct of function pointers.', {
    status: ref('status', 'the statuses that the functions of the table return'),
    table: { description: 'reads the pointers at every call', type: 'string', enum: ['volatile'] },
  }),
}

/** The form of a file of annotations. */
export const annotationSchema: Schema & {
  readonly $schema: string
  readonly title: string
  readonly $defs: Readonly<Record<string, Schema>>
} = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Annotations of tenon bind',
  ...object('What a C header does not say: results, handles, lengths and errors.', {
    $schema: text('the place of this schema'),
    tenon: { description: 'the version of this form', const: 1 },
    functions: map(
      'functions by name; a method of a table is Table.name, and name@VERSION is a version of a symbol of glibc',
      'function',
    ),
    handles: map('classes of handles by name', 'handle'),
    status: ref('status', 'the statuses that functions return'),
    tables: map('structs of function pointers by name', 'table'),
    macros: {
      description: 'the types of macros with parameters, which --shim makes functions',
      type: 'object',
      additionalProperties: { description: 'the types, such as (void *) -> uint32_t', type: 'string' },
    },
  }),
  required: ['tenon'],
  $defs: definitions,
}

/** The keys of a function's annotations that are not names of its parameters. */
export const FUNCTION_KEYS: readonly string[] = Object.keys(definitions['function']!.properties!)
