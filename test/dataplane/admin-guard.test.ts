/** The rights of callers at the admin API. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { adminRefusal } from '../../dataplane/admin/guard.ts'

const TOKEN = 'kZ3'
const socket = { isSocket: true }
const loopback = { isSocket: false, token: TOKEN, tokenFile: () => '/run/gw-1/8080.token' }
const pod = { isSocket: false }
const read = { method: 'GET', isOpen: false, host: '127.0.0.1:9091' }
const bearer = { authorization: `Bearer ${TOKEN}` }

for (const [what, caller, door, status] of [
  ['reads the status on loopback', { ...read, isOpen: true }, loopback, undefined],
  ['reads the configuration on loopback', read, loopback, 401],
  ['reads it with the token', { ...read, ...bearer }, loopback, undefined],
  ['writes bearer in small letters', { ...read, authorization: 'bearer kZ3' }, loopback, undefined],
  ['has another token', { ...read, authorization: 'Bearer kZ4' }, loopback, 401],
  ['has half of the token', { ...read, authorization: 'Bearer kZ' }, loopback, 401],
  ['sends the token as a password', { ...read, authorization: 'Basic kZ3' }, loopback, 401],
  ['posts to the status', { ...read, method: 'POST', isOpen: true }, loopback, 401],
  ['writes with the token', { ...read, method: 'PUT', ...bearer }, loopback, undefined],
  ['names another host', { ...read, ...bearer, host: 'evil.example' }, loopback, 403],
  ['names no host', { ...read, ...bearer, host: undefined }, loopback, 403],
  [
    'is a page that writes',
    { ...read, ...bearer, method: 'PUT', origin: 'http://x' },
    loopback,
    403,
  ],
  ['writes on the socket', { ...read, method: 'PUT', host: 'any' }, socket, undefined],
  [
    'is a page that writes on the socket',
    { ...read, method: 'PUT', origin: 'http://x' },
    socket,
    403,
  ],
  ['is a page of another site', { ...read, 'sec-fetch-site': 'cross-site' }, pod, 403],
  ['is a page of another port', { ...read, 'sec-fetch-site': 'same-site' }, pod, 403],
  ['is the console', { ...read, 'sec-fetch-site': 'same-origin' }, pod, undefined],
  ['types the address', { ...read, 'sec-fetch-site': 'none' }, pod, undefined],
  ['reads in a pod', read, pod, undefined],
  ['names another host in a pod', { ...read, host: 'pod.ai' }, pod, 403],
] as const) {
  test(`a caller that ${what} is ${status === undefined ? 'let in' : `refused with ${status}`}`, () => {
    assert.equal(adminRefusal(caller, door)?.status, status)
  })
}

test('the refusal names the file of the token and not the token', () => {
  const { message = '' } = adminRefusal(read, loopback) ?? {}
  assert.match(message, /bearer token in \/run\/gw-1\/8080\.token/)
  assert.ok(!message.includes(TOKEN))
})
