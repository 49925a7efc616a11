export { annotate } from './annotations/annotate.ts'
export { type Annotations, readAnnotations } from './annotations/annotation-file.ts'
export { symbolVersions } from './annotations/symbol-versions.ts'
export { CompilerError, HeadersProblem } from './bind-error.ts'
export { isolationProblem } from './model/isolation-problem.ts'
export type { Constant } from './model/constant.ts'
export type {
  BoundConstant,
  BoundEnum,
  BoundFunction,
  BoundRecord,
  BoundVariable,
  FunctionType,
  Member,
  MemberGroup,
  Model,
  Parameter,
  RecordLayout,
  Refusal,
  RefusalReason,
  ScalarKind,
  Shim,
  Type,
} from './model/model.ts'
export { stripPrefixes } from './model/strip-prefixes.ts'
export type { ShimLibrary } from './probe/build-shim.ts'
export { type LibraryExports, readModel, type ReadOptions } from './model/read-model.ts'
export { type LibraryExpression, type ModuleFiles, type ModuleOptions, writeModule } from './write/module.ts'
