/** The run time of modules that `tenon bind` writes. */
export { type MemberLayouts } from './bind/layout-of.ts'
export { members, type ModuleMembers } from './bind/module-members.ts'
export {
  type BindSignature,
  type BindType,
  type ModuleOptions,
  NativeModule,
  type Variable,
} from './bind/native-module.ts'
export { type Pointer } from './bind/pointer.ts'
export { Struct } from './bind/struct.ts'
export { textOf } from './bind/text.ts'
