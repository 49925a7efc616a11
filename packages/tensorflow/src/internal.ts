export { type DefinitionText, type RegisteredKernel, type Registrations, type TypeConstraint } from './registration.ts'
