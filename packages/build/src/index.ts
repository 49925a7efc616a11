export { findReleaseProblems } from './checks/release.ts'
export { type Artifact, buildPackage } from './build.ts'
export { ToolError, runMain } from './tool-error.ts'
export { clearCache } from './inline/cache.ts'
export { CompileError } from './inline/compile-error.ts'
export { compile, compileSync, type Compiled } from './inline/compile.ts'
export type { Diagnostic } from './inline/diagnostics.ts'
export type { CompileOptions } from './inline/options.ts'
export { loadPackage } from './load-package.ts'
export { names } from './names.ts'
export {
  artifactName,
  buildDirectory,
  findPlatform,
  hostPlatform,
  type Platform,
  type PlatformName,
  platforms,
} from './platform.ts'
export { defineConfig, type KernelLibrary, type ProjectConfig } from './project/config.ts'
export { newProject } from './project/new-project.ts'
export { loadProject, type Project } from './project/load-project.ts'
export { testProject } from './project/test-project.ts'
export { runNativeTests } from './run-tests.ts'
export type { NativePackage, NativeTarget, Variant } from './targets.ts'
export { watchPackage } from './watch/watch-package.ts'
