import { describe, expect, it } from 'vitest'
import { NativeLibrary, type Tensor } from '@tenon/core'
import { functionAt } from '@tenon/core/internal'
import { fromDLPack, OpaquePointer, type PackedFuncError } from '../src/index.ts'
import { compileLibrary } from './compile.ts'
import { live, thrownBy } from './support.ts'

const SOURCE = `
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

    it('of any minor version of 1 is accepted', () => {
      const tensor = fromDLPack(managed(1, 9)) as Tensor
      expect(tensor.shape).toEqual([2])
      expect(count()).toBe(0)
      ;(tensor.segment.lifetime as unknown as Disposable)[Symbol.dispose]()
      expect(count()).toBe(1)
    })
  })
