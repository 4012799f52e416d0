/** A picture is counted by its tiles, if its size is known. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { imageTokens, tilesOf } from '../../../dataplane/tokens/exact/images.ts'

/** Published numbers: 1024 x 1024 has 765 tokens, 2048 x 4096 has 1105. */
test('a picture is scaled into a square, then to its shortest side, then cut into tiles', () => {
  for (const [width, height, tiles] of [
    [1024, 1024, 4],
    [2048, 4096, 6],
    [512, 512, 1],
    [513, 512, 2],
    [1, 1, 1],
    [100_000, 10, 4],
    [2048, 768, 8],
  ] as const) {
    assert.equal(tilesOf({ width, height }), tiles, `${width} x ${height}`)
  }
})

function dataUrl(bytes: readonly number[]): string {
  return `data:image/any;base64,${Buffer.from(bytes).toString('base64')}`
}

const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]
const GIF = [0x47, 0x49, 0x46, 0x38, 0x39, 0x61]
const JPEG = [0xff, 0xd8, 0xff, 0xe0, 0, 4, 0, 0, 0xff, 0xc0, 0, 17, 8]

test('the size is read from the head of a PNG, a GIF and a JPEG', () => {
  assert.equal(imageTokens(dataUrl([...PNG, 0, 0, 4, 0, 0, 0, 4, 0]), false), 765)
  assert.equal(imageTokens(dataUrl([...GIF, 0, 4, 0, 4]), false), 765)
  assert.equal(imageTokens(dataUrl([...JPEG, 16, 0, 8, 0, 3]), false), 85 + 170 * 6)
})

test('a picture of unknown size counts as the largest, and one of low detail as one tile less', () => {
  const unknown = [
    'https://example.com/a.png',
    '',
    'data:image/png;base64,',
    dataUrl([1, 2, 3]),
    dataUrl(PNG),
    dataUrl([...PNG, 0, 0, 0, 0, 0, 0, 0, 0]),
    dataUrl([0xff, 0xd8, 0xff, 0xe0, 0, 0, 0xff, 0xe0, 0, 0, 0xff, 0xe0]),
  ]
  for (const url of unknown) {
    assert.equal(imageTokens(url, false), 85 + 170 * 8, url)
    assert.equal(imageTokens(url, true), 85, url)
  }
})
