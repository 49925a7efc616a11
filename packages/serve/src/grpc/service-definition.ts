import type { DescService } from '@bufbuild/protobuf'
import type { ServiceDefinition } from '@grpc/grpc-js'

const same = (bytes: Buffer): Buffer => bytes

/**
 * The definition of a service for a gRPC server, whose handlers get and give bytes. So a message that cannot be read is an error of
 * its handler, and an answer is encoded while the memory of its tensors is still there.
 */
export function serviceDefinition(service: DescService): ServiceDefinition {
  return Object.fromEntries(
    service.methods.map(({ name, methodKind }) => [
      name,
      {
        path: `/${service.typeName}/${name}`,
        requestStream: methodKind === 'client_streaming' || methodKind === 'bidi_streaming',
        responseStream: methodKind === 'server_streaming' || methodKind === 'bidi_streaming',
        requestSerialize: same,
        requestDeserialize: same,
        responseSerialize: same,
        responseDeserialize: same,
      },
    ]),
  )
}
