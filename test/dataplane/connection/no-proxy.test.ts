import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBypass } from '../../../dataplane/connection/no-proxy.ts'

type Row = readonly [entry: string, endpoint: string, bypassed: boolean]

const ROWS: readonly Row[] = [
  // A name covers itself and names below it, and no name that merely ends alike.
  ['example.com', 'http://example.com', true],
  ['example.com', 'http://api.example.com', true],
  ['example.com', 'http://a.b.example.com', true],
  ['example.com', 'http://notexample.com', false],
  ['example.com', 'http://example.com.evil.org', false],
  ['example.com', 'http://example.org', false],
  ['com', 'http://example.com', true],
  // With a leading dot or star only names below it.
  ['.example.com', 'http://api.example.com', true],
  ['.example.com', 'http://example.com', false],
  ['.example.com', 'http://notexample.com', false],
  ['*.example.com', 'http://api.example.com', true],
  ['*.example.com', 'http://a.b.example.com', true],
  ['*.example.com', 'http://example.com', false],
  ['api.*.com', 'http://api.example.com', false],
  // Case, the last dot and spaces do not matter.
  ['EXAMPLE.com', 'http://example.COM', true],
  ['example.com.', 'http://example.com', true],
  ['example.com', 'http://example.com.', true],
  ['.Example.Com.', 'http://API.example.com.', true],
  ['  example.com ', 'http://example.com', true],
  // The star is everything.
  ['*', 'https://anything.example', true],
  ['*', 'http://10.0.0.1', true],
  ['*', 'http://[fd00::1]', true],
  // Ports, with the scheme's own if the endpoint has none.
  ['example.com:8080', 'http://example.com:8080', true],
  ['example.com:8080', 'http://api.example.com:8080', true],
  ['example.com:8080', 'http://example.com:8081', false],
  ['example.com:80', 'http://example.com', true],
  ['example.com:443', 'https://example.com', true],
  ['example.com:443', 'http://example.com', false],
  ['.example.com:443', 'https://api.example.com', true],
  ['*:8080', 'http://anything.example:8080', true],
  ['*:8080', 'http://anything.example', false],
  [':8080', 'http://anything.example:8080', true],
  ['10.0.0.1:8000', 'http://10.0.0.1:8000', true],
  ['10.0.0.1:8000', 'http://10.0.0.1:8001', false],
  ['[fd00::1]:8000', 'http://[fd00::1]:8000', true],
  ['[fd00::1]:8000', 'http://[fd00::1]:8001', false],
  // Addresses, in any form of an endpoint.
  ['10.0.0.1', 'http://10.0.0.1', true],
  ['10.0.0.1', 'http://0x0a000001', true],
  ['10.0.0.1', 'http://167772161', true],
  ['10.0.0.1', 'http://10.0.0.10', false],
  ['10.0.0.1', 'http://10.0.0.1.example.com', false],
  ['0.0.1', 'http://10.0.0.1', false],
  ['fd00::1', 'http://[fd00::1]', true],
  ['[fd00::1]', 'http://[fd00:0:0::1]', true],
  ['FD00:0:0:0:0:0:0:1', 'http://[fd00::1]', true],
  ['fd00::1', 'http://[fd00::2]', false],
  ['10.0.0.1', 'http://[::ffff:10.0.0.1]', true],
  // Ranges, also with host bits; they never cover names.
  ['10.0.0.0/8', 'http://10.200.3.4', true],
  ['10.1.2.3/8', 'http://10.200.3.4', true],
  ['10.0.0.0/8', 'http://11.0.0.1', false],
  ['10.0.0.0/8', 'http://[::ffff:10.1.1.1]', true],
  ['10.0.0.0/8', 'http://ten.example.com', false],
  ['10.0.0.1/32', 'http://10.0.0.1', true],
  ['10.0.0.1/32', 'http://10.0.0.2', false],
  ['0.0.0.0/0', 'http://192.0.2.7', true],
  ['0.0.0.0/0', 'http://[fd00::1]', false],
  ['fd00::/8', 'http://[fdab::1]', true],
  ['[fd00::]/8', 'http://[fdab::1]', true],
  ['fd00::/8', 'http://[fe00::1]', false],
  ['::/0', 'http://[2001:db8::1]', true],
  // Nothing is implied.
  ['example.com', 'http://localhost', false],
  ['example.com', 'http://127.0.0.1', false],
  ['localhost', 'http://localhost:8000', true],
  ['localhost', 'http://127.0.0.1', false],
  ['127.0.0.1', 'http://localhost', false],
  ['127.0.0.0/8', 'http://127.0.0.1:8000', true],
  // An invalid entry covers nothing.
  ['', 'http://example.com', false],
  ['.', 'http://example.com', false],
  ['10.0.0.0/33', 'http://10.0.0.1', false],
  ['10.0/8', 'http://10.0.0.1', false],
  ['fd00::/129', 'http://[fd00::1]', false],
  ['example.com/8', 'http://example.com', false],
  ['http://example.com', 'http://example.com', false],
]

for (const [entry, endpoint, bypassed] of ROWS) {
  test(`"${entry}" ${bypassed ? 'covers' : 'does not cover'} ${endpoint}`, () => {
    assert.equal(reaches([entry], endpoint), bypassed)
  })
}

test('one of several entries is enough, and an empty list covers nothing', () => {
  assert.equal(reaches(['10.0.0.0/8', '.internal'], 'http://model.internal:8000'), true)
  assert.equal(reaches([], 'http://model.internal:8000'), false)
})

function reaches(entries: readonly string[], endpoint: string): boolean {
  const { hostname, port, protocol } = new URL(endpoint)
  return createBypass(entries)(hostname, Number(port || (protocol === 'https:' ? 443 : 80)))
}
