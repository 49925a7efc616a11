import { ArgumentError } from '@tenon/core'
import {
  array,
  check,
  integer,
  isoTimestamp,
  maxValue,
  minLength,
  minValue,
  number,
  optional,
  picklist,
  pipe,
  regex,
  strictObject,
  string,
  type InferOutput,
} from 'valibot'
import { readJsonFile } from '../files/json-file.ts'

const text = pipe(string(), minLength(1))
const names = array(text)

/** Algorithms whose keys are public. One with a shared key would let everybody who can verify a token make one. */
const algorithm = picklist([
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
])

const token = strictObject({
  name: text,
  sha256: pipe(string(), regex(/^[\da-f]{64}$/, 'It must have the 64 hexadecimal digits of a SHA-256.')),
  expires: optional(pipe(string(), isoTimestamp())),
})

const jwt = strictObject({
  issuer: text,
  audience: text,
  algorithms: pipe(array(algorithm), minLength(1)),
  keys: text,
  clockTolerance: optional(pipe(number(), integer(), minValue(0), maxValue(300))),
})

const rule = strictObject({
  callers: pipe(
    array(
      pipe(
        string(),
        regex(
          /^(\*|(token|jwt|certificate):.+)$/,
          'Callers are "*", "token:name", "jwt:subject" and "certificate:name".',
        ),
      ),
    ),
    minLength(1),
  ),
  infer: optional(names),
  load: optional(names),
  admin: optional(array(picklist(['*', 'metrics', 'shared-memory']))),
})

const accessFile = strictObject({
  tokens: optional(
    pipe(
      array(token),
      check(
        (tokens) => new Set(tokens.map(({ sha256 }) => sha256)).size === tokens.length,
        'Each hash must be there once.',
      ),
    ),
  ),
  jwt: optional(jwt),
  permissions: array(rule),
})

/** The contents of an access file. */
export type AccessFile = InferOutput<typeof accessFile>

/** The permissions of some callers. `*` in a list means all. */
export type AccessRule = AccessFile['permissions'][number]

/** The tokens of other servers, whose issuer the file names. */
export type JwtOptions = NonNullable<AccessFile['jwt']>

const HINTS: Readonly<Record<string, string>> = {
  'jwt.keys': 'Write the path of a file or the URL of a JSON Web Key Set.',
  'jwt.clockTolerance': 'Write a number of seconds up to 300.',
}

/** Reads an access file. @throws {ArgumentError} with the field that is missing, unknown or wrong. */
export const readAccessFile = (contents: string, path: string): AccessFile =>
  readJsonFile(accessFile, contents, path, ArgumentError, HINTS)
