/** The parts that other packages share before the core is loaded, also in browsers: the base class of all errors, and the search for similar names. */
export { didYouMean, suggest } from './suggest.ts'
export { defineKind, SimpleError, TenonError, type TenonErrorOptions } from './tenon-error.ts'
