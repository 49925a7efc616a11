export { isBuiltFor } from './choose-targets.ts'
export { findReleaseProblems, type ReleaseRules } from './checks/release.ts'
export { type Artifact, type BuildOptions, buildPackage } from './build.ts'
export { ToolError, runMain } from './tool-error.ts'
export { type Cleared, clearCache } from './inline/cache.ts'
export { CompileError, type CompileFailure } from './inline/compile-error.ts'
export { compile, compileSync, type Compiled } from './inline/compile.ts'
export type { Diagnostic } from './inline/diagnostics.ts'
export type { CompileOptions } from './inline/options.ts'
export { type LoadedPackage, loadPackage } from './load-package.ts'
export { names } from './names.ts'
export {
  artifactName,
  buildDirectory,
  findPlatform,
  hostPlatform,
  type Platform,
  type PlatformName,
  platforms,
  sharedLibraryName,
} from './platform.ts'
export { defineConfig, type KernelLibrary, type KernelTest, type ProjectConfig } from './project/config.ts'
export { headersDirectory } from './project/headers.ts'
export { newProject, type NewProject, type NewProjectOptions } from './project/new-project.ts'
export { loadProject, type LoadProjectOptions, type Project } from './project/load-project.ts'
export { type ProjectTestReport, testProject } from './project/test-project.ts'
export { type CommandOptions, type CommandResult, describeEnd, runCommand } from './run-command.ts'
export { type NativeReport, type NativeTestResult, runNativeTests } from './run-tests.ts'
export { isShipped } from './targets.ts'
export type {
  AddonTarget,
  ExecutableTarget,
  NativePackage,
  NativeTarget,
  ProgramTarget,
  SharedTarget,
  Variant,
} from './targets.ts'
export type { WatchedLibrary } from './watch/published.ts'
export {
  type PackageWatcher,
  watchPackage,
  type WatchedBuild,
  type WatchPackageOptions,
} from './watch/watch-package.ts'
