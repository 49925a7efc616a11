import { StringTensor } from '@tenon/tstring'
let seed = 1
const rnd = () => { seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff; return seed / 0x7fffffff }
const letters = 'abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'
const other = ['é','ž','語','😀']
function make(n: number, mixed: boolean) { return Array.from({length: n}, () => { const r = rnd(); const len = r < .6 ? Math.floor(rnd()*16) : r < .9 ? 16 + Math.floor(rnd()*49) : 65 + Math.floor(rnd()*936)
  const non = mixed && rnd() < .2
  let s = ''; for (let i=0;i<len;i++) s += non && rnd() < .25 ? other[Math.floor(rnd()*4)] : letters[Math.floor(rnd()*letters.length)]
  return Buffer.from(s).toString() }) }
const N = 1_000_000
function time(name: string, f: () => unknown, runs = 3) { const ts: number[] = []; let keep: unknown; for (let r=0;r<runs;r++) { (globalThis as any).gc?.(); const c0 = process.cpuUsage(); const t0 = process.hrtime.bigint(); keep = f(); ts.push(Number(process.hrtime.bigint()-t0)/N) } ts.sort((a,b)=>a-b); console.log(name.padEnd(30), ts[Math.floor(runs/2)]!.toFixed(1), 'min', ts[0]!.toFixed(1)); return keep }
for (const mixed of [false, true]) {
  const s = make(N, mixed)
  const bytes = s.reduce((a, x) => a + Buffer.byteLength(x), 0)
  console.log(mixed ? 'mixed' : 'ascii', bytes / 1e6)
  const big = Buffer.alloc(bytes + 4096)
  time('buf.write per string', () => { let at = 0; for (let i = 0; i < N; i++) at += big.write(s[i]!, at); return at })
  time('utf8Write per string', () => { let at = 0; for (let i = 0; i < N; i++) at += (big as any).utf8Write(s[i]!, at); return at })
  const t = time('from tf', () => StringTensor.from(s)) as StringTensor
  const ends = new Uint32Array(N + 1); { let at = 0; for (let i = 0; i < N; i++) { at += big.write(s[i]!, at); ends[i+1] = at } }
  time('utf8Slice per string', () => { const out = new Array(N); for (let i = 0; i < N; i++) out[i] = (big as any).utf8Slice(ends[i], ends[i+1]); return out })
  time('toArray', () => t.toArray())
  time('toArray slices', () => t.toArray({slices: true}))
  for (const l of ['tf','rfc16','rfc24','legacy','tflite'] as const) { const u = time('tf to ' + l, () => t.to(l)) as StringTensor;
    time(l + ' to tf', () => u.to('tf')); time(l + ' validate', () => l === 'tf' ? 0 : StringTensor.over(u.segment, {layout: l, shape: [N]})) }
  const p = t.to('tf', {storage: 'packed'}); time('validate tf packed', () => StringTensor.over(p.segment, {layout: 'tf', shape: [N]}))
  const m = time('to malloc', () => t.to('tf', {storage: 'malloc'}), 3) as StringTensor
  time('malloc to tf', () => m.to('tf')); time('malloc toArray', () => m.toArray())
  time('from tflite', () => StringTensor.from(s, {layout: 'tflite'}))
  time('hashes', () => t.hashes()); time('indexOf', () => t.indexOf('nothere')); time('utf8', () => t.indexOfInvalid())
  time('arrow', () => t.toArrowUtf8())
}
