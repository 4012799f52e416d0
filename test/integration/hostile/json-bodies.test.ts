/** Invalid chat bodies: refused quickly for their first fault, and never sent to an upstream. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { startFront } from './front.ts'

const LIMIT = 4_194_304
const MESSAGES = '"messages":[{"role":"user","content":"hi"}]'
const GOOD = `{"model":"chat",${MESSAGES}}`
const front = await startFront({ gateway: { max_request_bytes: LIMIT } })
after(() => front.stop())

interface Case {
  readonly what: string
  readonly body: string | Buffer
  readonly status: number
  readonly param?: string | null
  readonly type?: string
  readonly encoding?: string
}

function bad(what: string, body: string | Buffer, param: string | null = null): Case {
  return { what, body, status: 400, param }
}

function fine(what: string, body: string | Buffer): Case {
  return { what, body, status: 200 }
}

function withMember(member: string): string {
  return `{"model":"chat",${MESSAGES},${member}}`
}

/** Pads a body to a number of bytes. */
function ofLength(bytes: number): string {
  return GOOD.replace('hi', 'x'.repeat(bytes - GOOD.length + 2))
}

function utf16(text: string): Buffer {
  return Buffer.from(`\ufeff${text}`, 'utf16le')
}

const COUNTS = [
  '-1',
  '0',
  '1.5',
  '1e999',
  '-1e999',
  '"10"',
  '9007199254740993',
  '1e300',
  '[]',
  '{}',
  'true',
]
const NO_JSON = [
  'NaN',
  'Infinity',
  '-Infinity',
  '+1',
  '01',
  '0x10',
  '1.',
  '.5',
  '1e',
  'undefined',
  "'a'",
]
const COUNTED = ['max_tokens', 'max_completion_tokens', 'n']
const SINGLE: readonly [string, string, string][] = [
  ['model', '"chat"', '\\u006dodel'],
  ['messages', '[{"role":"user","content":"other"}]', 'mess\\u0061ges'],
  ['max_tokens', '1', 'max\\u005ftokens'],
  ['max_completion_tokens', '1', 'max_completion_token\\u0073'],
  ['n', '1', '\\u006E'],
  ['stream', 'false', 'str\\u0065am'],
]
const TYPES = [
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/jsonp',
  'application/json; charset=utf-16',
  'application/json; charset=latin1',
  'application/json, text/plain',
  'application/xml',
  'application/json\tx',
  'text/json',
  'application/ json',
  ' ',
  'json',
  'application/json;charset=utf-8;x=y',
]

const CASES: readonly Case[] = [
  bad('nothing', ''),
  bad('spaces', '   \n\t '),
  bad('one brace', '{'),
  bad('an array', '[]'),
  bad('an array around it', `[${GOOD}]`),
  bad('a string', '"chat"'),
  bad('a number', '1'),
  bad('null', 'null'),
  bad('an object without members', '{}', 'model'),
  bad('words behind it', `${GOOD} and more`),
  bad('a second object after it', `${GOOD}${GOOD}`),
  bad('a NUL after it', `${GOOD}\0`),
  bad('a NUL before it', `\0${GOOD}`),
  bad('a byte order mark', `\ufeff${GOOD}`),
  bad('a trailing comma', `{"model":"chat",${MESSAGES},}`),
  bad('a leading comma', `{,"model":"chat",${MESSAGES}}`),
  bad('a comment', `{/**/"model":"chat",${MESSAGES}}`),
  bad('single quotes', "{'model':'chat'}"),
  bad('a name without quotes', '{model:"chat"}'),
  bad('cut in a string', GOOD.slice(0, -6)),
  bad('cut at the end', GOOD.slice(0, -1)),
  bad('cut in an escape', '{"model":"chat\\'),
  bad('a bad escape', GOOD.replace('hi', '\\x41')),
  bad('a cut \\u escape', GOOD.replace('hi', '\\u12')),
  bad('a bare NUL in a string', GOOD.replace('hi', 'a\0b')),
  bad('a bare line feed in a string', GOOD.replace('hi', 'a\nb')),
  bad('UTF-16', utf16(GOOD)),
  bad('invalid UTF-8', Buffer.from(GOOD.replace('hi', '\xff\xfe'), 'latin1')),
  bad('a UTF-8 surrogate', Buffer.from(GOOD.replace('hi', '\xed\xa0\x80'), 'latin1')),
  bad('an overlong slash', Buffer.from(GOOD.replace('hi', '\xc0\xaf'), 'latin1')),
  bad('arrays 1,000,000 deep', withMember(`"x":${'['.repeat(1e6)}${']'.repeat(1e6)}`)),
  bad('arrays 1,000,000 deep without an end', withMember(`"x":${'['.repeat(1e6)}`)),
  bad('objects 500,000 deep', withMember(`"x":${'{"a":'.repeat(5e5)}1${'}'.repeat(5e5)}`)),
  bad('65 levels', withMember(`"x":${'['.repeat(64)}${']'.repeat(64)}`)),
  fine('64 levels', withMember(`"x":${'['.repeat(63)}${']'.repeat(63)}`)),
  bad(
    '300,000 members',
    withMember(Array.from({ length: 3e5 }, (_, index) => `"m${index}":1`).join()),
  ),
  bad('4 MiB of backslashes', `{"model":"${'\\'.repeat(LIMIT - 100)}`),
  bad('a million quotes', `{${'"'.repeat(1e6)}`),
  bad('no model', `{${MESSAGES}}`, 'model'),
  bad('a model that is not a string', GOOD.replace('"chat"', '["chat"]'), 'model'),
  bad('an empty model', GOOD.replace('"chat"', '""'), 'model'),
  bad('no messages', '{"model":"chat"}', 'messages'),
  bad('messages that are not a list', '{"model":"chat","messages":[]}', 'messages'),
  bad('messages in an object', '{"model":"chat","messages":{"0":{"role":"user"}}}', 'messages'),
  bad('a message that is not an object', '{"model":"chat","messages":["hi"]}', 'messages[0].role'),
  bad('a message without a role', '{"model":"chat","messages":[{}]}', 'messages[0].role'),
  bad('content that is a number', GOOD.replace('"hi"', '1'), 'messages[0].content'),
  bad('stream as a string', withMember('"stream":"true"'), 'stream'),
  bad('stream as a number', withMember('"stream":1'), 'stream'),
  bad('stream options that are not an object', withMember('"stream_options":[]'), 'stream_options'),
  bad('n of 129', withMember('"n":129'), 'n'),
  ...COUNTED.flatMap((name) =>
    COUNTS.map((value) => bad(`${name} ${value}`, withMember(`"${name}":${value}`), name)),
  ),
  ...NO_JSON.map((value) => bad(`the text ${value}`, withMember(`"max_tokens":${value}`))),
  ...SINGLE.flatMap(([name, value, escaped]) => [
    bad(
      `${name} twice`,
      `{"${name}":${value},"model":"chat",${MESSAGES},"${name}":${value}}`,
      name,
    ),
    bad(
      `${name} twice, escaped second`,
      `{"model":"chat",${MESSAGES},"${name}":${value},"${escaped}":${value}}`,
      name,
    ),
    bad(
      `${name} twice, escaped first`,
      `{"${escaped}":${value},"${name}":${value},"model":"chat",${MESSAGES}}`,
      name,
    ),
  ]).filter(({ body }) => !String(body).startsWith('{"model":"chat","model"')),
  ...TYPES.map((type) => ({ what: `type ${type}`, body: GOOD, type, status: 415 })),
  ...['gzip', 'br', 'zstd', 'deflate', 'gzip, gzip', 'x-gzip', 'IDENTITY, gzip'].map(
    (encoding) => ({ what: `encoding ${encoding}`, body: gzipSync(GOOD), encoding, status: 415 }),
  ),
  bad('gzip without its header', gzipSync(GOOD)),
  { what: 'a body one byte above the limit', body: ofLength(LIMIT + 1), status: 413 },
  fine('a body at the limit', ofLength(LIMIT)),
  fine('__proto__ as a member', withMember('"__proto__":{"polluted":true}')),
  fine('constructor as a member', withMember('"constructor":{"prototype":{"polluted":true}}')),
  fine('__proto__ in a message', GOOD.replace('"role"', '"__proto__":{"polluted":true},"role"')),
  fine('lone surrogates, escaped', GOOD.replace('hi', '\\ud800 \\udfff')),
  fine('a NUL, escaped', GOOD.replace('hi', '\\u0000')),
  fine('spaces around it', ` \r\n\t${GOOD}\r\n `),
  fine('null for counts', withMember('"max_tokens":null,"n":null,"stream":null')),
  fine('other members twice', withMember('"seed":1,"seed":1')),
  fine('content that is null', GOOD.replace('"hi"', 'null')),
  { ...fine('a type in capitals', GOOD), type: 'APPLICATION/JSON; CHARSET=UTF-8' },
  { ...fine('a charset in quotes', GOOD), type: 'application/json; charset="utf-8"' },
  { ...fine('an encoding of identity', GOOD), encoding: 'identity' },
]

for (const { what, body, status, param, type = 'application/json', encoding } of CASES) {
  test(`${what}: ${status}`, async () => {
    const before = front.upstream.asked.length
    const headers = { authorization: `Bearer ${front.key}`, 'content-type': type }
    const response = await fetch(`${front.gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: encoding === undefined ? headers : { ...headers, 'content-encoding': encoding },
      body: typeof body === 'string' ? body : new Uint8Array(body),
      signal: AbortSignal.timeout(60_000),
    })
    const answer = await response.json()
    assert.equal(response.status, status, JSON.stringify(answer))
    assert.equal(front.upstream.asked.length - before, status === 200 ? 1 : 0)
    if (status === 200) return
    // The answer is checked member by member.
    const { error } = answer as { error: Record<string, unknown> }
    if (param !== undefined) assert.equal(error.param, param)
    assert.ok(String(error.message).length < 500, 'the refusal repeats the request')
    assert.equal(response.headers.get('x-gw-upstream'), 'none')
  })
}
