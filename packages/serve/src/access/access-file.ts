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

/** The permissions of some callers. `*` in a list means all. */
export interface AccessRule {
  /** `*`, `token:name`, `jwt:subject` and `certificate:name`, or all of a kind: `token:*`. */
  readonly callers: readonly string[]
  /** The models that they may use. */
  readonly infer?: readonly string[]
  /** The models that they may load and unload. */
  readonly load?: readonly string[]
  /** The other parts of the server that they may use. */
  readonly admin?: readonly ('*' | 'metrics' | 'shared-memory')[]
}

/** The issuer of JSON Web Tokens. */
export interface JwtOptions {
  readonly issuer: string
  readonly audience: string
  readonly algorithms: readonly string[]
  /** The path or the URL of a JSON Web Key Set. */
  readonly keys: string
  /** In seconds. */
  readonly clockTolerance?: number
}

/** A static token. */
export interface TokenEntry {
  readonly name: string
  /** 64 hexadecimal digits. */
  readonly sha256: string
  /** A time in the format of ISO 8601. */
  readonly expires?: string
}

/** The contents of an access file. */
export interface AccessFile {
  readonly tokens?: readonly TokenEntry[]
  readonly jwt?: JwtOptions
  readonly permissions: readonly AccessRule[]
}

const HINTS: Readonly<Record<string, string>> = {
  'jwt.keys': 'Write the path of a file or the URL of a JSON Web Key Set.',
  'jwt.clockTolerance': 'Write a number of seconds up to 300.',
}

/** Reads an access file. @throws {ArgumentError} with the field that is missing, unknown or wrong. */
export const readAccessFile = (contents: string, path: string): AccessFile =>
  readJsonFile(accessFile, contents, path, ArgumentError, HINTS) as AccessFile
