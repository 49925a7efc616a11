import type { Attempts } from './attempt.ts'

/** Files and images that are cut off at every length, or changed at every byte. */
export const files: Attempts = {
  'a library that is cut off at every length of its headers': [
    `    const path = temporary('x.so'), size = fs.statSync(KERNELS).size, lengths = [...Array.from({ length: 200 }, (_, i) => Math.floor((size * i) / 200)), ...Array(1200).keys()].sort((a, b) => b - a)
    fs.copyFileSync(KERNELS, path); tally(lengths.map((length) => () => { fs.truncateSync(path, length); binary.readBinary(path) }))`,
    'TENON_BINARY_FORMAT 1400',
  ],
  'a library with every byte of its headers changed': [
    `    const path = temporary('x.so'), bytes = fs.readFileSync(KERNELS), counts = new Set()
    for (let at = 0; at < 1024; at++) for (const value of [0, 0x7f, 0xff]) { const before = bytes[at]; bytes[at] = value; fs.writeFileSync(path, bytes); try { binary.readBinary(path); counts.add('read') } catch (error) { counts.add(error.code) } bytes[at] = before }
    console.log([...counts].sort().join(' '))`,
    'TENON_BINARY_FORMAT read',
  ],
  'a library that is cut off is loaded': [
    `    const bytes = fs.readFileSync(KERNELS), folder = temporary('')
    tally(Array.from({ length: 120 }, (_, i) => () => { const path = folder + i + '.so'; fs.writeFileSync(path, bytes.subarray(0, Math.floor((bytes.length * (i >> 1)) / 60))); (i % 2 ? Library : P.Module).open(path).close() }))`,
    'TENON_LOAD 120',
  ],
  'what is no library is loaded': [
    `    const path = temporary('x.so'); fs.writeFileSync(path, 'GROUP ( libc.so.6 )')
    for (const file of [path, '/dev/null', '/dev/zero', '/proc/self/mem', '/proc/self/exe', '/tmp', '/', '', 'a' + String.fromCharCode(0) + 'b', 'x'.repeat(10_000)]) tally([() => Library.open(file), () => P.Module.open(file), () => binary.readBinary(file), () => S.ResourceScope && linker.SymbolLookup.ofLibrary(file, confined())])`,
    'TENON_BINARY_FORMAT 1, TENON_LOAD 3, TENON_BINARY_FORMAT 1, TENON_LOAD 3, TENON_BINARY_FORMAT 1, TENON_LOAD 3, TENON_BINARY_FORMAT 1, TENON_LOAD 2, TENON_PACKED_FUNC 1, TENON_LOAD 2, TENON_PACKED_FUNC 1, gave 1, TENON_BINARY_FORMAT 1, TENON_LOAD 3, TENON_BINARY_FORMAT 1, TENON_LOAD 3, ENOENT 1, TENON_ARGUMENT 3, ERR_INVALID_ARG_VALUE 1, TENON_ARGUMENT 3, ENAMETOOLONG 1, TENON_LOAD 2, TENON_PACKED_FUNC 1',
  ],
  'an npy array that is cut off at every length': [
    `    const bytes = tenon.encodeNpy(make()), path = temporary('x.npy')
    tally(Array.from({ length: bytes.length }, (_, length) => () => tenon.decodeNpy(bytes.subarray(0, length)))); tally(Array.from({ length: 200 }, (_, length) => () => { fs.writeFileSync(path, bytes.subarray(0, length)); tenon.readNpy(path) }))`,
    'TENON_NPY_FORMAT 4224, TENON_NPY_FORMAT 200',
  ],
  'an npy array with every byte of its header changed': [
    `    const bytes = tenon.encodeNpy(make())
    const outcomes = new Set(); for (let at = 0; at < 128; at++) for (let value = 0; value < 256; value += 5) { const before = bytes[at]; bytes[at] = value; try { tenon.decodeNpy(bytes); outcomes.add('read') } catch (error) { outcomes.add(error.code) } bytes[at] = before } console.log([...outcomes].sort().join(' '))`,
    'TENON_NPY_FORMAT read',
  ],
  'npy headers that lie about shapes': [
    `    const header = (text) => { const body = Buffer.from(text.padEnd(117) + String.fromCharCode(10)); return Buffer.concat([Buffer.from([0x93, 78, 85, 77, 80, 89, 1, 0, body.length, 0]), body]) }
    tally(['(-1,)', '(18446744073709551616,)', '(9007199254740993,)', '(4294967296, 4294967296)', '(1e3,)', '(' + '1,'.repeat(30) + ')', '(((((1,', '()', '(0, 9007199254740991)', '(1,' + '('.repeat(40), 'None', '(2,)*9'].map((shape) => () => tenon.decodeNpy(header("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ', }'))))`,
    'TENON_NPY_FORMAT 11, gave 1',
  ],
  'npy files are pipes, devices and folders': [
    `    const path = temporary('pipe'); (await import('node:child_process')).execFileSync('mkfifo', [path])
    for (const file of [path, '/dev/null', '/proc/self/maps', '/tmp', '/dev/full']) tally([() => tenon.readNpy(file)]); tally([() => tenon.writeNpy('/dev/full', make()), () => tenon.writeNpy('/tmp', make()), () => tenon.writeNpy('/proc/self/x', make())])`,
    'TENON_NPY_FORMAT 1, TENON_NPY_FORMAT 1, TENON_NPY_FORMAT 1, EISDIR 1, TENON_NPY_FORMAT 1, EISDIR 1, ENOENT 1, ENOSPC 1',
  ],
  'images of strings that are cut off at every length, in every layout': [
    `    for (const layout of ['tf', 'rfc16', 'rfc24', 'legacy', 'tflite']) { const { segment } = StringTensor.from(['a', '', long, 'x'.repeat(300)], { layout, storage: 'packed' }), image = new Uint8Array(segment.view().buffer, segment.view().byteOffset, segment.byteSize); for (const validate of ['strict', 'lenient']) { const outcomes = new Set(); for (let length = 0; length < image.length; length++) try { const cut = StringTensor.ofSegment(image.slice(0, length), { layout, shape: [4], validate }); cut.toArray(); cut.hashes(); outcomes.add('read') } catch (error) { outcomes.add(error.code ?? error.name) } console.log([...outcomes].sort().join(' ')) } }`,
    'TENON_MALFORMED_TENSOR, TENON_MALFORMED_TENSOR, TENON_MALFORMED_TENSOR, TENON_MALFORMED_TENSOR, TENON_MALFORMED_TENSOR, TENON_MALFORMED_TENSOR, TENON_MALFORMED_TENSOR, TENON_MALFORMED_TENSOR, TENON_MALFORMED_TENSOR, TENON_MALFORMED_TENSOR',
  ],
  'images of strings with every byte changed, in every layout': [
    `    const outcomes = new Set()
    for (const layout of ['tf', 'rfc16', 'rfc24', 'legacy', 'tflite']) { const { segment } = StringTensor.from(['a', '', long, 'b'], { layout, storage: 'packed' }), image = new Uint8Array(segment.view().buffer, segment.view().byteOffset, segment.byteSize).slice(); for (const validate of ['strict', 'lenient']) for (let at = 0; at < image.length; at++) for (const value of [0, 1, 2, 3, 0x7f, 0x80, 0xff]) { const before = image[at]; image[at] = value; try { const read = StringTensor.ofSegment(image.slice(), { layout, shape: [4], validate }); read.toArray({ invalid: 'latin1' }); read.to('tflite'); outcomes.add('read') } catch (error) { outcomes.add(error.code ?? error.name) } image[at] = before } } console.log([...outcomes].sort().join(' '))`,
    'TENON_MALFORMED_TENSOR read',
  ],
  'files of strings that are cut off, with every cut of their description': [
    `    const path = temporary('x.bin'); StringTensor.from(['a', long], { layout: 'tflite' }).export(path); const bytes = fs.readFileSync(path), text = fs.existsSync(path + '.json') ? fs.readFileSync(path + '.json') : Buffer.alloc(0)
    tally([...Array(bytes.length).keys()].map((length) => () => { fs.writeFileSync(path, bytes.subarray(0, length)); const open = StringTensor.open(path); open.toArray(); open.close() })); fs.writeFileSync(path, bytes); tally([...Array(text.length).keys()].map((length) => () => { fs.writeFileSync(path + '.json', text.subarray(0, length)); StringTensor.open(path).close() }))`,
    'TENON_MALFORMED_TENSOR 60, TENON_ARGUMENT 87, gave 1',
  ],
  'a mapped file of strings shrinks under its tensor': [
    `    const path = temporary('x.bin'); StringTensor.from(Array(2000).fill(long), { layout: 'tflite' }).export(path); const open = StringTensor.open(path); fs.truncateSync(path, 100); attempt(() => open.get(1999).length); attempt(() => open.hashes().length); attempt(() => open.to('tf')); attempt(() => echo(open.segment.asSlice(50_000, 100))); attempt(() => open.close())`,
    'gave 43, gave 2000, gave StringTensor, gave Tensor, gave undefined',
  ],
  'a mapped file shrinks under a custom call and a packed function': [
    `    const path = temporary('x.bin'), scope = confined(); fs.writeFileSync(path, Buffer.alloc(1 << 16)); const mapped = MemorySegment.mapFile(path, scope), x = attempt(() => tensor('f32', [4096], mapped.asSlice(0, 1 << 14)))
    fs.truncateSync(path, 0); attempt(() => x.toArray().length); attempt(() => tenon.encodeNpy(x)); attempt(() => mapped.getInt8(5000)); attempt(() => mapped.getString(0)); attempt(() => scope.close())`,
    'gave Tensor, gave 4096, gave Buffer, gave 0, gave , gave undefined',
  ],
  'pools are opened over files that are empty, shrink, or are no files': [
    `    const path = temporary('pool'); fs.writeFileSync(path, Buffer.alloc(8192)); const pool = pools.openFilePool(path); fs.truncateSync(path, 10); attempt(() => pool.read(4096, 8).length); attempt(() => pool.view()[5000]); attempt(() => pool.close()); fs.writeFileSync(path, ''); tally([path, '/dev/zero', '/tmp', '/proc/self/maps', '/absent'].map((of) => () => pools.openFilePool(of)))`,
    'gave 8, gave undefined, gave undefined, TENON_ARGUMENT 3, TENON_POOLS 2',
  ],
  'varints, structs and Arrow offsets are random bytes': [
    `    let seed = 7; const random = () => (seed = (seed * 1103515245 + 12345) % 2 ** 31), bytes = (n) => Uint8Array.from({ length: n }, random), outcomes = new Set()
    for (let i = 0; i < 3000; i++) for (const use of [() => ts.decodeVarint(bytes(1 + (random() % 11))), () => ts.decodeStruct(bytes(24), { layout: ['tf', 'rfc16', 'rfc24'][random() % 3], abi: ['le64', 'be64', 'le32', 'be32'][random() % 4] }), () => StringTensor.ofArrowUtf8(bytes(40), new Int32Array(bytes(16).buffer)).toArray(), () => StringTensor.ofArrowUtf8View(bytes(32), [bytes(64)]).toArray()]) try { use(); outcomes.add('read') } catch (error) { outcomes.add(error.code ?? error.name) }
    console.log([...outcomes].sort().join(' '))`,
    'TENON_ARGUMENT TENON_BOUNDS TENON_MALFORMED_TENSOR read',
  ],
  'HIDL messages are random bytes': [
    `    const hidl = await import('tenon/pools/hidl'); let seed = 3; const random = () => (seed = (seed * 1103515245 + 12345) % 2 ** 31), outcomes = new Set()
    for (const [name, f] of Object.entries(hidl)) if (/^decode/.test(name)) for (let i = 0; i < 300; i++) try { f(Uint8Array.from({ length: random() % 200 }, random)); outcomes.add('read') } catch (error) { outcomes.add(error.code ?? error.name) }
    console.log([...outcomes].sort().join(' '))`,
    'TENON_POOLS',
  ],
}
