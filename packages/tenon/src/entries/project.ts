export { projectLibrary } from '../project/project-library.ts'
