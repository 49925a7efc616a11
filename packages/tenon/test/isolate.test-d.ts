import { tensor, type Tensor } from '@tenon/core'
import { expectTypeOf, test } from 'vitest'
import { Library, type IsolatedKernel, type IsolatedLibrary, type IsolateOptions } from '../src/index.ts'

const library = {} as IsolatedLibrary
const x = tensor([1])

test('an isolated library has the kernels of a library, which take further options', () => {
  expectTypeOf(Library.isolate).returns.resolves.toEqualTypeOf<IsolatedLibrary>()
  expectTypeOf(library.kernel('softmax')).toEqualTypeOf<IsolatedKernel>()
  expectTypeOf(library.kernel('softmax')(x)).toEqualTypeOf<Tensor>()
  expectTypeOf(library.kernel('softmax').async(x)).resolves.toEqualTypeOf<Tensor>()
  expectTypeOf(library.kernel('softmax').batch([[x], [x, {}]])).resolves.toEqualTypeOf<PromiseSettledResult<Tensor>[]>()
  const topk = library.kernel<{ values: Tensor; indices: Tensor }>('topk')
  expectTypeOf(
    topk(x, { k: 2 }, { deadline: 5, priority: 'high', affinity: 'a', idempotent: true }).values,
  ).toEqualTypeOf<Tensor>()
  expectTypeOf(library.memory.allocate).returns.toHaveProperty('byteSize')
  expectTypeOf(library).toExtend<AsyncDisposable>()
  // A library without workers would have these.
  expectTypeOf(library).not.toHaveProperty('close')
  expectTypeOf(library.kernel('softmax')).not.toHaveProperty('prepare')
})

test('options are checked', () => {
  expectTypeOf(Library.isolate).parameter(1).toEqualTypeOf<IsolateOptions | undefined>()
  // @ts-expect-error a number of workers
  void Library.isolate('a', { workers: 'two' })
  // @ts-expect-error an option that does not exist
  void Library.isolate('a', { worker: 2 })
  // @ts-expect-error a choice
  void Library.isolate('a', { callbacks: 'always' })
  // @ts-expect-error the option of a packed function's calls
  library.packed('sum').with({ priority: 'urgent' })
  void Library.isolate('a', { workers: 2, deadline: Infinity, memory: '512 MiB', host: 'node', restart: { limit: 5 } })
})
