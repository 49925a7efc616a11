import { describe, expect, it } from 'vitest'
import { NativeLibrary, ScopeClosedError, ScopeHeldError, Segment, tensor, type Tensor } from '@tenon/core'
import { functionAt } from '@tenon/core/internal'
import { fromDLPack, OpaquePointer, type PackedFuncError, toDLPack } from '../src/index.ts'
import { compileLibrary } from './compile.ts'
import { LentMemory } from './lent-memory.ts'
import { isOwnLibrary, live, thrownBy } from './support.ts'

const SOURCE = `
  #include <pthread.h>
  #include <stdint.h>
  static long long shape[] = {2};
  static float data[2];
  static int deleted;
  typedef struct managed {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct managed *);
    uint64_t flags;
    void *data;
    int32_t device_type, device_id, ndim;
    uint8_t code, bits;
    uint16_t lanes;
    long long *shape, *strides;
    uint64_t offset;
  } managed;
  static void forget(managed *self) { (void)self; deleted++; }
  managed *make(int32_t major, int32_t minor, int32_t has_deleter) {
    static managed made;
    deleted = 0;
    made = (managed){major, minor, 0, has_deleter ? forget : 0, 0, data, 1, 0, 1, 2, 32, 1, shape, 0, 0};
    return &made;
  }
  managed *make_with(uint64_t flags) {
    managed *made = make(1, 0, 1);
    made->flags = flags;
    return made;
  }
  uint64_t flags_of(managed *other) { return other->flags; }
  uint64_t data_of(managed *other) { return (uintptr_t)other->data + other->offset; }
  static void *delete_on_thread(void *other) {
    ((managed *)other)->deleter(other);
    return 0;
  }
  static void unwrap(managed *self) {
    pthread_t thread;
    pthread_create(&thread, 0, delete_on_thread, self->context);
    pthread_join(thread, 0);
  }
  managed *wrap(managed *other) {
    static managed made;
    made = *other;
    made.context = other;
    made.deleter = unwrap;
    return &made;
  }
  void delete(managed *other) { other->deleter(other); }
  int32_t count(void) { return deleted; }
`

if (process.platform !== 'win32')
  describe('a managed tensor of DLPack', () => {
    const library = NativeLibrary.open(compileLibrary('libmanaged.so', SOURCE))
    const make = functionAt(Number(library.symbol('make')), 'uint64', ['int32', 'int32', 'int32'])
    const count = functionAt(Number(library.symbol('count')), 'int32', [])
    const managed = (major: number, minor: number, hasDeleter = 1): OpaquePointer =>
      new OpaquePointer(BigInt(make(major, minor, hasDeleter) as number))

    it.each([
      [0, 8],
      [2, 0],
      [0xffff_ffff, 0xffff_ffff],
    ])('of version %d.%d is refused, and its deleter is called once', (major, minor) => {
      const before = live()
      const error = thrownBy(() => fromDLPack(managed(major | 0, minor | 0))) as PackedFuncError
      expect([error.kind, error.sentence]).toEqual([
        'BufferError',
        `DLPack version ${major}.${minor} is not supported, 1.x is`,
      ])
      expect(count()).toBe(1)
      expect(live()).toEqual(before)
    })

    it('of another version is refused if it has no deleter, too', () => {
      expect(() => fromDLPack(managed(2, 0, 0))).toThrow('DLPack version 2.0 is not supported, 1.x is')
      expect(count()).toBe(0)
    })

    const flagged = functionAt(Number(library.symbol('make_with')), 'uint64', ['uint64'])
    const flagsOf = functionAt(Number(library.symbol('flags_of')), 'uint64', ['uint64'])
    const dataOf = functionAt(Number(library.symbol('data_of')), 'uint64', ['uint64'])
    const remove = functionAt(Number(library.symbol('delete')), 'void', ['uint64'])
    const [READ_ONLY, COPIED] = [1, 2]

    it.each([0, READ_ONLY, COPIED, READ_ONLY | COPIED])('with the flags %d is read-only if they say so', (flags) => {
      const made = fromDLPack(new OpaquePointer(BigInt(flagged(flags)))) as Tensor
      expect(made.segment.readOnly).toBe(isOwnLibrary && (flags & READ_ONLY) !== 0)
      ;(made.segment.lifetime as unknown as Disposable)[Symbol.dispose]()
      expect(count()).toBe(1)
    })

    it('says that it is a copy, which shares nothing with the tensor', () => {
      const { block, base, byteSize } = tensor('float32', [2], [1, 2]).segment
      const sealed = tensor('float32', [2], new Segment(block, base, byteSize, 1))
      const [shared, copied] = [toDLPack(sealed), toDLPack(sealed, { copy: true })].map(({ address }) =>
        Number(address),
      )
      expect([flagsOf(shared!), flagsOf(copied!)]).toEqual([READ_ONLY, COPIED])
      expect([dataOf(shared!) === sealed.address, dataOf(copied!) === sealed.address]).toEqual([true, false])
      remove(shared!)
      const back = fromDLPack(new OpaquePointer(BigInt(copied!))) as Tensor
      expect([back.toArray(), back.segment.readOnly]).toEqual([[1, 2], false])
      ;(back.segment.lifetime as unknown as Disposable)[Symbol.dispose]()
      const plain = toDLPack(sealed, { copy: true, versioned: false })
      ;((fromDLPack(plain, { versioned: false }) as Tensor).segment.lifetime as unknown as Disposable)[Symbol.dispose]()
    })

    it('passes through another library, which deletes it on a thread of its own', () => {
      const wrap = functionAt(Number(library.symbol('wrap')), 'uint64', ['uint64'])
      const before = live()
      const x = tensor('float32', [2], [1, 2])
      const back = fromDLPack(new OpaquePointer(BigInt(wrap(Number(toDLPack(x).address))))) as Tensor
      expect([back.address, back.toArray()]).toEqual([x.address, [1, 2]])
      expect(live().foreign).toBeGreaterThan(before.foreign)
      ;(back.segment.lifetime as unknown as Disposable)[Symbol.dispose]()
      expect(live().foreign).toBeLessThanOrEqual(before.foreign)
    })

    it.each([1, 3])('keeps memory open until all %d are deleted, without another call', (times) => {
      const lifetime = new LentMemory()
      const x = lifetime.tensor()
      const pointers = Array.from({ length: times }, () => Number(toDLPack(x).address))
      for (const pointer of pointers) {
        expect(() => lifetime.close()).toThrow(ScopeHeldError)
        remove(pointer)
      }
      lifetime.close()
      expect(() => x.toArray()).toThrow(ScopeClosedError)
    })

    it('of any minor version of 1 is accepted', () => {
      const made = fromDLPack(managed(1, 9)) as Tensor
      expect(made.shape).toEqual([2])
      expect(count()).toBe(0)
      ;(made.segment.lifetime as unknown as Disposable)[Symbol.dispose]()
      expect(count()).toBe(1)
    })
  })
