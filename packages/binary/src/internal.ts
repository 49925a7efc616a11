/**
 * The parts that other packages share before the core is loaded: the base class of all errors, the search for similar names, and directories
 * of code that only this user can write to.
 */
export { didYouMean, suggest } from './suggest.ts'
export { defineKind, SimpleError, TenonError, type TenonErrorOptions } from './tenon-error.ts'
export {
  openPrivateDirectory,
  publishDirectory,
  type RefuseDirectory,
  removeQuietly,
  userCachePath,
} from './private-directory.ts'
