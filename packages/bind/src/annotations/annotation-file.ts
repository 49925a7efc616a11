import { readFileSync } from 'node:fs'
import { ToolError } from '@tenon/build'

import { checkSchema } from './check-schema.ts'
import { annotationSchema } from './schema.ts'

/** The annotation of a value in a file. */
export type ValueAnnotation =
  | 'plain'
  | 'text'
  | 'pointer'
  | 'number'
  | 'nullable'
  | 'nonnull'
  | 'omit'
  | 'status'
  | {
      readonly text?: true
      readonly free?: string
      readonly nullable?: true
      /** The statuses without a result, for which the call gives null. */
      readonly none?: readonly (number | string)[]
      readonly handle?: string
      readonly close?: string
      readonly within?: string
      readonly evenOnError?: true
      readonly finalize?: true
    }

/** The annotation of a parameter in a file. */
export type ParameterAnnotation =
  | string
  | { readonly result: ValueAnnotation }
  | { readonly results: string; readonly each?: ValueAnnotation }
  | { readonly inout: string }
  | { readonly value: number | boolean | string }

/** The annotations of a function in a file: the fixed names, and those of parameters. */
export interface FunctionAnnotation {
  readonly return?: ValueAnnotation
  readonly result?: ValueAnnotation
  readonly async?: true
  readonly errno?: true
  readonly critical?: true
  readonly rename?: string
  readonly parameters?: Readonly<Record<string, ParameterAnnotation>>
}

/** A class of handles in a file. */
export interface HandleAnnotation {
  readonly type?: string
  readonly close?: string
  readonly within?: string
  readonly evenOnError?: true
  readonly finalize?: true
  readonly nullable?: true
  /** Whether every parameter that points to such a pointer is a result. */
  readonly results?: true
}

/** The statuses of functions in a file. */
export interface StatusAnnotation {
  readonly success?: readonly (number | string)[] | string
  readonly message?: string
  readonly otherwise?: string
  readonly code?: string
  readonly release?: string
}

/** A file of annotations. */
export interface Annotations {
  readonly tenon: 1
  readonly functions?: Readonly<Record<string, FunctionAnnotation>>
  readonly handles?: Readonly<Record<string, HandleAnnotation>>
  readonly status?: StatusAnnotation
  /** The types of macros with parameters, which `readModel()` needs. */
  readonly macros?: Readonly<Record<string, string>>
  readonly tables?: Readonly<Record<string, { readonly status?: StatusAnnotation; readonly table?: 'volatile' }>>
}

/**
 * Reads a file of annotations, and checks its form.
 *
 * @throws {ToolError} if it cannot be read or is not JSON. @throws {AnnotationsError} if it does not have the form.
 */
export function readAnnotations(path: string): Annotations {
  let value: unknown
  try {
    value = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new ToolError(`cannot read the annotations ${path}: ${(error as Error).message}`)
  }
  return checkAnnotations(value)
}

/** @throws {AnnotationsError} if a value does not have the form of annotations. */
export function checkAnnotations(value: unknown): Annotations {
  checkSchema(value, annotationSchema, annotationSchema.$defs)
  return value as Annotations
}
