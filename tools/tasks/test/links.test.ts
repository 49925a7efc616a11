import { describe, expect, test } from 'vitest'

import { findBrokenLinks, relativeLinks } from '../src/checks/links.ts'

const targets = (text: string): string[] => relativeLinks([{ path: 'a.md', text }]).map(({ target }) => target)

describe('links', () => {
  test.each([
    ['see [b](b.md) and [`c`](docs/c.md#part "a title")', ['b.md', 'docs/c.md#part']],
    ['![a picture](<a b.png>)', ['a b.png']],
    ['[b]: ../b.md', ['../b.md']],
    ['<source srcset="b.svg"> <img src="docs/c.svg">', ['b.svg', 'docs/c.svg']],
    ['[a](https://example.org) [b](#part) [c](mailto:a@example.org)', []],
    ['`a[0](x)` and [b](b.md)', ['b.md']],
    ['```ts\nf[0](x)\n```\n[b](b.md)', ['b.md']],
    ['````md\n```\n[a](a.md)\n```\n````\n[b](b.md)', ['b.md']],
  ])('relativeLinks() of %j', (text, expected) => {
    expect(targets(text)).toEqual(expected)
  })

  test('findBrokenLinks() resolves links from the page and from the root', () => {
    const there = new Set(['docs/b.md', 'README.md', 'a b.md', 'docs'])
    const links = relativeLinks([
      {
        path: 'docs/a.md',
        text: '[1](b.md#x)\n[2](../README.md)\n[3](../a%20b.md)\n[4](/docs)\n[5](c.md)\n[6](../b.md)',
      },
    ])
    expect(findBrokenLinks(links, (path) => there.has(path))).toEqual([
      'docs/a.md:5 links to c.md, which does not exist',
      'docs/a.md:6 links to ../b.md, which does not exist',
    ])
  })
})
