export { CompilerError, HeadersProblem } from './bind-error.ts'
export type {
  BoundConstant,
  BoundEnum,
  BoundFunction,
  BoundRecord,
  BoundVariable,
  Constant,
  FunctionType,
  Member,
  Model,
  Parameter,
  RecordLayout,
  Refusal,
  RefusalReason,
  ScalarKind,
  Type,
} from './model/model.ts'
export { type LibraryExports, readModel, type ReadOptions } from './model/read-model.ts'
export { type ModuleFiles, type ModuleOptions, writeModule } from './write/module.ts'
