/**
 * The errors of the core by themselves. Loading them loads no native code, so that programs in browsers can use them too.
 *
 * @module
 */
export { defineKind, SimpleError, TenonError, type TenonErrorOptions } from '@tenon/binary/internal'
export * from './errors/kinds.ts'
