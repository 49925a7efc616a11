/** The functions and types that other packages of Tenon use besides the public entries. They may change at any time. */
export { linkRemote } from './linker/remote-function.ts'
