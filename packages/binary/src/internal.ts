/** What the packages of this repository share before anything is loaded: the base of all errors, and the names that resemble one. */
export { didYouMean, suggest } from './suggest.ts'
export { defineKind, SimpleError, TenonError, type TenonErrorOptions } from './tenon-error.ts'
