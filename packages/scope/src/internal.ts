/** The functions and types that other packages of Tenon use besides the public entries. They may change at any time. */
export { isNativeModule, librariesOf, useProcesses } from './bind/native-module.ts'
export { checkShim, SHIM_HASH } from './bind/open-shim.ts'
export { RemoteModule, type RemoteLibrary } from './bind/remote-module.ts'
export { linkRemote } from './linker/remote-function.ts'
