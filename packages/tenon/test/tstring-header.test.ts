import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { StringTensor } from '../src/entries/tstring.ts'
import { Library } from '../src/index.ts'
import { MemorySegment, ResourceScope } from '../src/entries/scope.ts'

const include = fileURLToPath(new URL('../../core/include', import.meta.url))
const comment = readFileSync(join(include, 'tenon/tstring.h'), 'utf8').split('*/')[0]!
/** The example of the first comment. */
const example = /^ \* {3}#include[^]*?^ \* {3}\}$/m.exec(comment)![0].replaceAll(/^ \* {3}/gm, '')

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-tstring-'))
})
afterAll(() => rmSync(directory, { recursive: true }))

const strict = ['-O2', '-g', '-Wall', '-Wextra', '-Wpedantic', '-Werror', '-I', include]
const [cc, cxx] = [process.env['CC'] ?? 'cc', process.env['CXX'] ?? 'c++']

function compile(compiler: string, name: string, source: string, ...flags: string[]): string {
  writeFileSync(join(directory, name), source)
  const output = join(directory, `${name}.out`)
  execFileSync(compiler, [...strict, ...flags, '-o', output, name], { cwd: directory, stdio: 'inherit' })
  return output
}

test.each([
  [cc, 'describe.c', '-std=c11', ''],
  [cxx, 'describe.cc', '-std=c++11', 'extern "C" '],
])(
  'the example of tenon/tstring.h reads and writes the strings of tensors: %s %s %s',
  (compiler, file, std, linkage) => {
    const source = example.replace('void describe_all', `${linkage}void describe_all`)
    const library = Library.open(compile(compiler, file, source, std, '-shared', '-fPIC'))
    const texts = ['', 'short', 'twenty-two characters.', 'a text that needs a block', 'ü'.repeat(5000)]
    using scope = ResourceScope.ofConfined()
    const input = StringTensor.from(texts, { layout: 'tf' })
    const output = MemorySegment.allocateNative(24 * texts.length, 8, scope)
    const describeAll = library.function('describe_all', {
      result: 'void',
      parameters: ['pointer', 'pointer', 'uint64'],
    })
    describeAll(input.segment, output, BigInt(texts.length))
    const written = StringTensor.ofSegment(output, { layout: 'tf', shape: [texts.length] })
    expect(written.toArray()).toEqual(texts.map((text) => `${Buffer.byteLength(text)} bytes`))
    library.close()
  },
)

const program = String.raw`
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <tenon/tstring.h>

static int failures;
#define CHECK(condition) ((condition) ? (void)0 : (void)(failures++, std::printf("%d: %s\n", __LINE__, #condition)))
static tenon::tstring made(size_t size) { return tenon::tstring(std::string(size, 'm')); }

static int released;
static void retain(tn_tstring_owner_t *self) { ++*static_cast<int *>(self->object); }
static bool give_back(tn_tstring_owner_t *self) { released++; return --*static_cast<int *>(self->object) == 0; }

static uint32_t state = 1;
static size_t below(size_t limit) { return (state = state * 1664525u + 1013904223u) % 65521 % limit; }

/* Each operation on a string and on std::string. */
static void compare_operations() {
  tenon::tstring strings[4];
  std::string models[4];
  for (int step = 0; step < 200000; step++) {
    const size_t i = below(4), j = below(4), size = below(3) == 0 ? below(300) : below(26);
    const std::string text(size, static_cast<char>('a' + below(26)));
    switch (below(8)) {
      case 0: strings[i] = text; models[i] = text; break;
      case 1: if (models[i].size() < 2000) { strings[i].append(text.data(), size); models[i] += text; } break;
      case 2: strings[i].resize(size, 'r'); models[i].resize(size, 'r'); break;
      case 3: strings[i].reserve(size); break;
      case 4: strings[i] = strings[j]; models[i] = models[j]; break;
      case 5: if (i != j) { strings[i] = std::move(strings[j]); models[i] = models[j]; models[j] = std::string(strings[j]); } break;
      case 6: if (models[i].size() < 2000) { strings[i].append(strings[i]); models[i] += std::string(models[i]); } break;
      default: if (!models[i].empty()) { strings[i].mdata()[0] = 'w'; models[i][0] = 'w'; } break;
    }
    for (int k = 0; k < 4; k++) CHECK(std::string(strings[k]) == models[k] && strings[k].capacity() >= models[k].size());
    CHECK((strings[i] == strings[j]) == (models[i] == models[j]) && (strings[i] < strings[j]) == (models[i] < models[j]));
    if (failures > 0) return;
  }
}

int main() {
  CHECK(made(22).type() == tenon::tstring::SMALL && made(23).type() == tenon::tstring::LARGE);
  CHECK(made(22).capacity() == 22 && made(23).capacity() == 31 && made(31).capacity() == 31 && made(32).capacity() == 47);
  tenon::tstring grown = made(22);
  for (size_t capacity : {47, 95, 191, 383, 767}) {
    grown.append("x", 1);
    CHECK(grown.capacity() == capacity);
    grown.resize(capacity, 'x');
  }
  grown = "short";
  CHECK(grown.type() == tenon::tstring::SMALL && grown == tenon::tstring("short") && grown != "long" && grown[0] == 's');
  tenon::tstring moved = made(40), taken = std::move(moved);
  CHECK(moved.empty() && taken.size() == 40 && *taken.begin() == 'm' && taken.end()[0] == 0);
  static const char text[] = "bytes that live as long as the program";
  tenon::tstring view;
  view.assign_as_view(text, sizeof text - 1);
  CHECK(view.type() == tenon::tstring::VIEW && view.data() == text && view.capacity() == 0);
  tenon::tstring copy = view;
  CHECK(copy.data() == text);
  copy.mdata()[0] = 'B';
  CHECK(copy.type() == tenon::tstring::LARGE && text[0] == 'b' && copy < view);
  int references = 0;
  tn_tstring_owner_t owner = {retain, give_back, &references};
  {
    tn_string_t owned;
    tn_string_init(&owned);
    CHECK(tn_string_assign_owned_view(&owned, text, 20, &owner));
    tn_string_t other;
    tn_string_init(&other);
    CHECK(tn_string_assign(&other, &owned) && references == 2 && tn_string_compare(&other, &owned) == 0);
    tn_string_dealloc(&other);
    CHECK(tn_string_copy(&owned, "own", 3) && references == 0 && released == 2);
  }
  tn_string_t limit;
  tn_string_init(&limit);
  CHECK(!tn_string_reserve(&limit, SIZE_MAX / 2) && tn_string_size(&limit) == 0 && !tn_string_append(&limit, text, SIZE_MAX));
  compare_operations();
  return failures > 0;
}
`

test.each([['-std=c++11'], ['-std=c++20']])(
  'strings of C++ behave as std::string, with the blocks of TensorFlow: %s',
  (std) => {
    expect(() => execFileSync(compile(cxx, 'program.cc', program, std))).not.toThrow()
  },
)
