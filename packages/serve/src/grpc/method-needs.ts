import type { Need } from '../access/caller.ts'

/**
 * The requirement of each method, by its path. Methods that name a model in their message need the permission for at least one model before it is
 * read, and their handlers check that for the model.
 */
const NEEDS: Readonly<Record<string, Need>> = {
  '/grpc.health.v1.Health/Check': 'nothing',
  '/grpc.health.v1.Health/Watch': 'nothing',
  ...ofService({
    ServerLive: 'nothing',
    ServerReady: 'nothing',
    ServerMetadata: 'caller',
    ModelReady: 'infer',
    ModelMetadata: 'infer',
    ModelConfig: 'infer',
    ModelStatistics: 'infer',
    ModelInfer: 'infer',
    ModelStreamInfer: 'infer',
    RepositoryIndex: 'caller',
    RepositoryModelLoad: 'load',
    RepositoryModelUnload: 'load',
    SystemSharedMemoryStatus: 'shared-memory',
    SystemSharedMemoryRegister: 'shared-memory',
    SystemSharedMemoryUnregister: 'shared-memory',
    CudaSharedMemoryStatus: 'shared-memory',
    CudaSharedMemoryRegister: 'shared-memory',
    CudaSharedMemoryUnregister: 'shared-memory',
  }),
}

function ofService(methods: Readonly<Record<string, Need>>): Record<string, Need> {
  return Object.fromEntries(
    Object.entries(methods).map(([name, need]) => [`/inference.GRPCInferenceService/${name}`, need]),
  )
}

/** The requirement of a method. A caller without credentials does not learn which methods there are. */
export const needOf = (path: string): Need => (Object.hasOwn(NEEDS, path) ? NEEDS[path]! : 'caller')
