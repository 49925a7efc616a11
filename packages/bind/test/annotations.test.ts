import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { annotationSchema, type Schema } from '../src/annotations/schema.ts'
import { annotate, type Annotations, type Model, readAnnotations, readModel, writeModule } from '../src/index.ts'

const directory = mkdtempSync(join(tmpdir(), 'tenon-annotations-'))
afterAll(() => rmSync(directory, { recursive: true }))

const header = `
typedef struct db db;
typedef struct row row;
typedef struct size { int width, height; } size;
struct failure { const char *text; };
#define DB_OK 0
#define DB_NAME "main"
#define DB_LIMIT 300
#define DB_RATIO 0.5
#define DB_COPY ((void (*)(void *))-1)
typedef void (*db_free)(void *);
int db_bind(db *db, const char *text, unsigned char flags, _Bool deep, double ratio, db_free free, unsigned long large);
int db_open(const char *name, db **out);
int db_close(db *db);
int db_query(db *db, const char *query, int length, row **out);
void row_free(row *row);
const char *db_error(db *handle);
const char *db_explain(int code);
struct failure *db_last(void);
void db_visit(db *db, int (*visit)(int), double ratio, size by_value);
const unsigned char *db_bytes(db *db, long *length);
void db_list(const char **names, int count);
void db_give(db *const *dbs, int count);
int db_size(db *db, size *out);
struct table { int (*run)(int value); int plain; };
`

let model: Model
beforeAll(async () => {
  const path = join(directory, 'db.h')
  writeFileSync(path, header)
  model = await readModel([path])
})

const apply = (annotations: object): Model => annotate(model, { tenon: 1, ...annotations } as Annotations)
const functions = (annotations: object): Model => apply({ functions: annotations })

describe('annotations', () => {
  test.each([
    [{ db_opne: {} }, 'functions.db_opne names a function that the headers do not have', 'db_open'],
    [
      { db_open: { otu: 'result' } },
      'functions.db_open.otu names the parameter otu, which the function does not have',
      'out',
    ],
    [{ db_open: { out: 'rezult' } }, 'functions.db_open.out must be one of result, ', 'result'],
    [{ db_open: { async: 1 } }, 'functions.db_open.async must be true, got 1', ''],
    [{ db_open: { critical: 1 } }, 'functions.db_open.critical must be true, got 1', ''],
    [
      { db_visit: { critical: true } },
      'functions.db_visit.critical must be a function that calls no function of TypeScript, but visit is a callback',
      '',
    ],
    [
      { row_free: { row: 'takes', critical: true } },
      'functions.row_free.critical must be a function that ends no object, but it closes row',
      'can call functions of TypeScript',
    ],
    [{ db_open: { return: 'states' } }, 'functions.db_open.return must be one of plain, text, ', 'status'],
    [{ db_open: { out: { result: { handel: 'Db' } } } }, 'must not have "handel", which does not exist', 'handle'],
    [{ db_query: { length: 'length(qury)' } }, 'names the parameter qury', 'query'],
    [{ db_query: { query: 'length(db)' } }, 'must be an integer to be a length, got char *', ''],
    [{ db_visit: { ratio: 'length(db)' } }, 'must be an integer to be a length, got double', ''],
    [{ db_query: { length: 'result' } }, 'must be a pointer to be a result, got int', ''],
    [{ db_close: { db: 'result' } }, 'must point to a type with a size, got the opaque db', ''],
    [{ db_query: { length: 'nonnull' } }, 'must be a pointer, got int', ''],
    [{ db_query: { db: 'call' } }, 'must be a pointer to a function, got db *', ''],
    [{ db_query: { query: 'texts' } }, 'must be an array of pointers, got char *', ''],
    [{ db_query: { db: 'text' } }, 'must be a pointer to characters, got db *', ''],
    [{ db_visit: { by_value: 'omit' } }, 'must be a scalar or a pointer, got size', ''],
    [{ db_query: { db: 'inout' } }, 'must be a pointer to a scalar or a pointer, got db *', ''],
    [{ db_list: { count: 'length-of-result' } }, 'must be a pointer to an integer, got int', ''],
    [{ db_open: { return: { none: ['DB_NONE'] } } }, 'the annotations do not say which statuses are success', ''],
    [{ db_open: { return: 'text' } }, 'must be a pointer, got int', ''],
    [{ db_error: { return: 'number' } }, 'must be an integer to be a number, got char *', ''],
    [{ db_last: { return: 'text' } }, 'must be a pointer to characters to be text, got failure *', ''],
    [{ db_error: { return: { text: true, free: 'row_fre' } } }, 'names the function row_fre', 'row_free'],
    [{ db_open: { return: 'status' } }, 'the annotations do not say which statuses are success', '"status"'],
    [
      { db_open: { out: 'result', result: { handle: 'Db' } } },
      'must name the function that closes the handle Db',
      '"close"',
    ],
    [
      { db_open: { out: 'result', result: { handle: 'Db', close: 'db_clos' } } },
      'names the function db_clos',
      'db_close',
    ],
    [{ db_open: { out: 'result', result: { handle: 'size', close: 'db_close' } } }, 'must not be called size', ''],
    [
      { db_query: { out: 'result', result: { handle: 'Row', close: 'row_free', within: 'dbs' } } },
      'names the parameter dbs',
      'db',
    ],
    [{ db_open: { result: { free: 'row_free' }, out: 'result' } }, 'must be a text or a handle', '"close"'],
    [{ 'db_*': { otu: 'result' } }, 'functions.db_*.otu fits none of the functions of the pattern', 'out'],
    [{ 'dc_*': {} }, 'names a function that the headers do not have', ''],
    [{ 'table.rum': {} }, 'names a function that the headers do not have', 'table.run'],
    [{ db_open: { rename: 'x; y' } }, 'functions.db_open.rename must be a name, got "x; y"', 'letters'],
    [{ db_open: { out: 'result', result: { handle: '1 {}', close: 'db_close' } } }, 'must be a name, got "1 {}"', ''],
    [{ db_bind: { flags: { value: 'DB_LIMIT' } } }, 'must have a value that fits unsigned char, got "DB_LIMIT"', ''],
    [{ db_bind: { flags: { value: -1 } } }, 'must have a value that fits unsigned char, got -1', ''],
    [{ db_bind: { flags: { value: 1.5 } } }, 'must have a value that fits unsigned char, got 1.5', ''],
    [{ db_bind: { flags: { value: 'DB_LIMTI' } } }, 'names the constant DB_LIMTI', 'DB_LIMIT'],
    [{ db_bind: { flags: { value: null } } }, 'db_bind.flags.value must be', ''],
    [{ db_bind: { flags: { valeu: 1 } } }, 'must not have "valeu"', 'value'],
    [{ db_bind: { deep: { value: 2 } } }, 'must have a value that fits _Bool, got 2', ''],
    [{ db_bind: { ratio: { value: 'DB_NAME' } } }, 'must have a value that fits double, got "DB_NAME"', ''],
    [{ db_bind: { free: { value: 'DB_NAME' } } }, 'must have a value that fits a function *, got "DB_NAME"', ''],
    [{ db_bind: { large: { value: -1 } } }, 'must have a value that fits unsigned long, got -1', ''],
    [{ db_visit: { by_value: { value: 0 } } }, 'must have a value that fits size, got 0', ''],
    [{ 'db_opne@DB_1': {} }, 'functions.db_opne@DB_1 names a function that the headers do not have', 'db_open'],
    [{ 'db_*@DB_1': {} }, 'must have the form name@VERSION', 'memcpy@GLIBC_2.2.5'],
    [{ 'db_open@': {} }, 'must have the form name@VERSION', 'memcpy@GLIBC_2.2.5'],
    [{ 'db_open@DB_1': {}, db_open: {} }, 'names the function db_open, which has annotations elsewhere', ''],
    [{ db_open: { rename: 'db_close' } }, 'must have different names, got db_close for both', 'rename'],
  ])('%j: %s', (annotation, message, hint) => {
    expect(() => functions(annotation)).toThrow(message)
    expect(() => functions(annotation)).toThrow(hint)
  })

  test.each([
    [{ status: { success: ['DB_OKAY'] } }, 'status.success names the constant DB_OKAY', 'DB_OK'],
    [{ status: { success: '> 0' } }, 'status.success must be one of >= 0', ''],
    [{ status: { success: [0], message: 'db_eror(db)' } }, 'names the function db_eror', 'db_error'],
    [{ status: { success: [0], message: 'db_error(bd)' } }, 'names the parameter bd, which no function has', 'db'],
    [{ status: { success: [0], message: 'db_query(db)' } }, 'must be a function of at most one parameter', ''],
    [{ status: { success: [0], message: 'db_last().txt' } }, 'names the member txt', 'text'],
    [{ status: { success: [0], otherwise: 'db_explian' } }, 'names the function db_explian', 'db_explain'],
    [{ handles: { Db: { type: 'dp', close: 'db_close' } } }, 'handles.Db.type names the struct dp', 'db'],
    [
      { handles: { Db: { type: 'db', close: 'row_free' } } },
      'must be a function that takes the db * or db ** of Db, got row_free',
      'ends the object',
    ],
    [
      { handles: { Db: { type: 'db', close: 'db_last' } } },
      'must be a function that takes the db * or db ** of Db, got db_last',
      'ends the object',
    ],
    [
      { handles: { Db: { type: 'db', close: 'db_visit' } } },
      'must be a function of one argument, but db_visit also takes visit',
      '"db_visit": { "visit": "omit" }',
    ],
    [
      { handles: { Db: { type: 'db', close: 'db_close' } }, functions: { db_close: { db: 'nonnull' } } },
      'must be a function that takes the db * or db ** of Db, got db_close',
      'do not annotate the parameter',
    ],
    [{ status: { success: [0], message: 'db_close(db)' } }, 'must be a function that returns a text, got db_close', ''],
    [{ handles: { Db: { close: 'db_close' } } }, 'handles.Db.type is missing', ''],
    [
      { handles: { Row: { type: 'row', close: 'row_free', within: 'Db' } } },
      'names the handle Db, which is not defined',
      '',
    ],
    [{ tables: { tabel: {} } }, 'tables.tabel names a struct that the headers do not have', 'table'],
    [{ tables: { size: {} } }, 'tables.size must be a struct with function pointers', ''],
    [{ tables: { table: { table: 'fixed' } } }, 'tables.table.table must be one of volatile', ''],
    [{ function: {} }, 'the annotations must not have "function", which does not exist', 'functions'],
    [{ tenon: 2 }, 'tenon must be 1, got 2', ''],
  ])('%j: %s', (annotations, message, hint) => {
    expect(() => apply(annotations)).toThrow(message)
    expect(() => apply(annotations)).toThrow(hint)
  })

  test('give parameters of a constant value, which fits its type', () => {
    const values = {
      db: 'nonnull',
      text: { value: 'DB_NAME' },
      flags: { value: 255 },
      deep: { value: true },
      ratio: { value: 'DB_RATIO' },
      free: { value: 'DB_COPY' },
      large: { value: 0 },
    }
    const { code, declarations } = writeModule(functions({ db_bind: values }), { libraries: [] })
    expect(declarations).toContain('function db_bind(db: ')
    expect(declarations).toMatch(/function db_bind\(db: [^,]*\): number/)
    for (const parameter of [
      `{ is: 'constant', type: 'text', name: 'text', constant: "main" }`,
      `{ is: 'constant', type: 'uint8', name: 'flags', constant: 255 }`,
      `{ is: 'constant', type: 'bool', name: 'deep', constant: true }`,
      `{ is: 'constant', type: 'float64', name: 'ratio', constant: 0.5 }`,
      `{ is: 'constant', type: 'pointer', name: 'free', constant: NativeModule.pointer(18446744073709551615n) }`,
    ])
      expect(code).toContain(parameter)
  })

  test('of statuses without a result name constants', () => {
    const none = { functions: { db_open: { return: { none: ['DB_NONE'] } } }, status: { success: [0] } }
    expect(() => apply(none)).toThrow(
      'functions.db_open.return.none names the constant DB_NONE, which the headers do not have',
    )
  })

  test('of one class of handles in two places must agree', () => {
    const handles = { Db: { type: 'db', close: 'db_close' } }
    const annotation = { db_open: { out: 'result', result: { handle: 'Db', close: 'row_free' } } }
    expect(() => apply({ handles, functions: annotation })).toThrow('elsewhere, db_close, got row_free')
  })

  test('of a pattern apply where they fit, and those of a function win', () => {
    const { code } = writeModule(
      apply({
        handles: { Db: { type: 'db', close: 'db_close' }, Row: { type: 'row', close: 'row_free', within: 'Db' } },
        functions: { 'db_*': { return: 'status', out: 'result' }, db_size: { return: 'plain' } },
        status: { success: [0], message: 'db_error(db)' },
      }),
      { libraries: [] },
    )
    const line = (name: string): string => code.split('\n').find((text) => text.includes(`'${name}'`))!
    expect(line('db_open')).toContain('class: Db')
    expect(line('db_query')).toContain('class: Row, close: ($pointer) => row_free($pointer), within: 0')
    expect(line('db_query')).toContain('status: $$status, subject: 0')
    expect(line('db_size')).toContain(`is: 'struct'`)
    expect(line('db_size')).not.toContain('status')
    expect(line('db_error')).not.toContain('annotated')
    expect(line('db_close')).toContain(`is: 'taken'`)
  })

  test('of a class of handles can make all its out parameters results, and a function can leave one as it is', () => {
    const handles = {
      Db: { type: 'db', close: 'db_close', results: true },
      Row: { type: 'row', close: 'row_free', results: true },
    }
    const { declarations } = writeModule(apply({ handles, functions: { db_query: { out: 'plain' } } }), {
      libraries: [],
    })
    expect(declarations).toMatch(/function db_open\(name: .*\): \{ readonly value: number; readonly out: Db \}/)
    expect(declarations).toMatch(/function db_query\(.*, out: Pointer<'row \*'> \| null\): number/)
    expect(declarations).toMatch(/function db_give\(dbs: .*Pointer<'db \*'> \| null, count: number\): void/)
  })

  test('leave the text of other functions as it is', () => {
    const plain = writeModule(model, { libraries: [] }).code
    const annotated = writeModule(functions({ db_list: { names: 'texts' } }), { libraries: [] }).code
    const lines = (text: string): string[] => text.split('\n').filter((one) => !one.includes('db_list'))
    expect(lines(annotated)).toEqual(lines(plain))
  })

  test('are read from a file, whose errors say what is wrong', () => {
    const path = join(directory, 'bind.json')
    expect(() => readAnnotations(path)).toThrow('cannot read the annotations')
    writeFileSync(path, '{ "tenon": }')
    expect(() => readAnnotations(path)).toThrow('cannot read the annotations')
    writeFileSync(path, '[]')
    expect(() => readAnnotations(path)).toThrow('the annotations must be an object, got []')
    writeFileSync(path, '{}')
    expect(() => readAnnotations(path)).toThrow('the annotations must have tenon: 1')
  })

  test('of any form give a model or an error that names the place', () => {
    const words = fc.constantFrom(
      'result',
      'status',
      'text',
      'db_open',
      'out',
      'length(query)',
      'Db',
      'handle',
      'close',
      'return',
      'functions',
      'tenon',
    )
    const value = fc.letrec((tie) => ({
      value: fc.oneof(
        words,
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.dictionary(words, tie('value')),
        fc.array(tie('value'), { maxLength: 2 }),
      ),
    })).value
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom('functions', 'handles', 'status', 'tables'), value), (annotations) => {
        try {
          apply(annotations)
        } catch (error) {
          expect((error as Error).name).toBe('ToolError')
        }
      }),
    )
  })
})

describe('a critical function', () => {
  const handles = { Db: { type: 'db', close: 'db_close' } }

  test('is declared as one in the module', () => {
    const { code } = writeModule(apply({ functions: { db_explain: { critical: true } } }), { libraries: ['libdb.so'] })
    expect(code).toMatch(/library\.link\('db_explain', \{[^}]*critical: true/)
    expect(code.match(/critical: true/g)).toHaveLength(1)
  })

  test('is not the close function of a handle', () => {
    expect(() => apply({ handles, functions: { db_close: { critical: true } } })).toThrow(
      'functions.db_close.critical must be a function that ends no object, but it closes db',
    )
  })

  test('is not one with callbacks, or a close function, that a pattern matches', () => {
    const planned = apply({ handles, functions: { 'db_*': { critical: true } } }).functions
    const critical = planned.flatMap(({ name, call }) => (call?.isCritical === true ? [name] : []))
    expect(critical).toContain('db_explain')
    for (const name of ['db_close', 'db_visit', 'db_bind']) expect(critical).not.toContain(name)
  })
})

describe('bind.schema.json', () => {
  const file = JSON.parse(readFileSync(new URL('../bind.schema.json', import.meta.url), 'utf8')) as Schema

  test('is the form that the checker reads; pnpm --filter @tenon/bind schema writes it', () => {
    expect(file).toEqual(annotationSchema)
  })

  test('has a description for each name, and only the words of JSON Schema', () => {
    const known =
      'description type const enum pattern examples properties required additionalProperties items anyOf $ref $schema title $defs'.split(
        ' ',
      )
    const visit = (schema: Schema, path: string): void => {
      for (const key of Object.keys(schema)) expect(known, path).toContain(key)
      for (const [name, member] of Object.entries(schema.properties ?? {})) {
        expect(member.description, `${path}.${name}`).toEqual(expect.any(String))
        visit(member, `${path}.${name}`)
      }
      for (const one of schema.anyOf ?? []) visit(one, path)
    }
    visit(annotationSchema, 'annotations')
    for (const [name, definition] of Object.entries(annotationSchema.$defs)) visit(definition, name)
  })
})
