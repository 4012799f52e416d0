/** Ends of a body: lengths and codings that two parsers interpret differently. */
import { CHAT_BODY, CHAT_LINE, chatBytes, chunk, framedBytes } from './front.ts'
import { type Row, refused, served } from './rows.ts'

const LENGTH = CHAT_BODY.length
const CHUNKED = `${chunk(CHAT_BODY)}0\r\n\r\n`
const SMUGGLED = chatBytes()

function length(value: string): Row {
  return refused(
    `length: ${JSON.stringify(value)}`,
    framedBytes([`Content-Length: ${value}`], CHAT_BODY),
  )
}

function coding(value: string): Row {
  return refused(
    `coding: ${JSON.stringify(value)}`,
    framedBytes([`Transfer-Encoding: ${value}`], CHUNKED),
  )
}

function framing(name: string, lines: readonly string[], body: string): Row {
  return refused(`framing: ${name}`, framedBytes(lines, body))
}

function refusedSecond(name: string, second: string, status = 400): Row {
  return { ...refused(name, second, status), first: chatBytes() }
}

export const FRAMING_ROWS: readonly Row[] = [
  length(`00${LENGTH}`),
  length(`0${LENGTH}`),
  length(`+${LENGTH}`),
  length(`-${LENGTH}`),
  length('-1'),
  length('-0'),
  length(`${LENGTH}, ${LENGTH}`),
  length(`${LENGTH},${LENGTH}`),
  length(`${LENGTH}, 0`),
  length(`${LENGTH} ${LENGTH}`),
  length(`${LENGTH};`),
  length(`${LENGTH}.0`),
  length(`${LENGTH}e0`),
  length(`0x${LENGTH.toString(16)}`),
  length(`0b101`),
  length(`"${LENGTH}"`),
  length(`${LENGTH}_0`),
  length(`${LENGTH}\x00`),
  length(`\xb2\xb3`),
  length(''),
  length('chunked'),
  length('NaN'),
  length('Infinity'),
  length('18446744073709551616'),
  length('18446744073709551615'),
  length('99999999999999999999999'),
  length('9'.repeat(400)),
  framing(
    'two equal lengths',
    [`Content-Length: ${LENGTH}`, `Content-Length: ${LENGTH}`],
    CHAT_BODY,
  ),
  framing(
    'two lengths, other case',
    [`Content-Length: ${LENGTH}`, `content-length: ${LENGTH}`],
    CHAT_BODY,
  ),
  framing('two different lengths', [`Content-Length: ${LENGTH}`, 'Content-Length: 0'], CHAT_BODY),
  framing(
    'two different lengths, the other way',
    ['Content-Length: 0', `Content-Length: ${LENGTH}`],
    CHAT_BODY,
  ),
  framing('length and coding', ['Content-Length: 4', 'Transfer-Encoding: chunked'], CHUNKED),
  framing('coding and length', ['Transfer-Encoding: chunked', 'Content-Length: 4'], CHUNKED),
  framing('length 0 and coding', ['Content-Length: 0', 'Transfer-Encoding: chunked'], CHUNKED),
  framing(
    'length and unknown coding',
    [`Content-Length: ${LENGTH}`, 'Transfer-Encoding: x'],
    CHAT_BODY,
  ),
  framing(
    'length and identity',
    [`Content-Length: ${LENGTH}`, 'Transfer-Encoding: identity'],
    CHAT_BODY,
  ),
  framing(
    'two codings, the same',
    ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'],
    CHUNKED,
  ),
  framing(
    'two codings, one unknown',
    ['Transfer-Encoding: chunked', 'Transfer-Encoding: x'],
    CHUNKED,
  ),
  framing(
    'two codings, unknown first',
    ['Transfer-Encoding: x', 'Transfer-Encoding: chunked'],
    CHUNKED,
  ),
  framing(
    'two codings, other case',
    ['Transfer-Encoding: chunked', 'transfer-encoding: identity'],
    CHUNKED,
  ),
  framing('coding after a bare LF', ['X: y\nTransfer-Encoding: chunked'], CHUNKED),
  framing('coding folded', ['Transfer-Encoding:', ' chunked'], CHUNKED),
  framing('coding with a byte above 127', ['Transfer-Encoding: \xa0chunked'], CHUNKED),
  framing('coding with a vertical tab', ['Transfer-Encoding: \x0bchunked'], CHUNKED),
  framing(
    'name with an underscore and a length',
    ['Transfer_Encoding: chunked', 'Content-Length: 5, 6'],
    CHUNKED,
  ),
  coding('identity'),
  coding('gzip'),
  coding('gzip, chunked'),
  coding('chunked, gzip'),
  coding('chunked, chunked'),
  coding('chunked,'),
  coding(', chunked'),
  coding('chunked;q=1'),
  coding('xchunked'),
  coding('chunkedx'),
  coding('"chunked"'),
  coding('cow'),
  coding(''),
  refused(
    'HTTP/1.0 with a coding',
    framedBytes(['Transfer-Encoding: chunked'], CHUNKED, 'POST /v1/chat/completions HTTP/1.0'),
  ),
  refused(
    'HTTP/1.0 with a coding and keep-alive',
    framedBytes(
      ['Connection: keep-alive', 'Transfer-Encoding: chunked'],
      CHUNKED,
      'POST /v1/chat/completions HTTP/1.0',
    ),
  ),
  // The bytes after a refused request must never be read as another request.
  refused(
    'smuggled after a doubled length',
    framedBytes(
      [`Content-Length: ${LENGTH}`, `Content-Length: ${LENGTH + SMUGGLED.length}`],
      CHAT_BODY + SMUGGLED,
    ),
  ),
  refused(
    'smuggled after length and coding',
    framedBytes(['Content-Length: 5', 'Transfer-Encoding: chunked'], `0\r\n\r\n${SMUGGLED}`),
  ),
  refused(
    'smuggled after a hidden coding',
    framedBytes(
      [`Content-Length: ${LENGTH}`, 'Transfer-Encoding : chunked'],
      `0\r\n\r\n${SMUGGLED}`,
    ),
  ),
  refused(
    'smuggled after an unknown coding',
    framedBytes(['Transfer-Encoding: chunked, identity'], `0\r\n\r\n${SMUGGLED}`),
  ),
  refused(
    'smuggled after a refused target',
    chatBytes({ line: 'POST http://other.test/ HTTP/1.1' }) + SMUGGLED,
  ),
  refused(
    'smuggled after a doubled key',
    chatBytes({ more: ['Authorization: Bearer x'] }) + SMUGGLED,
  ),
  refused('smuggled behind CONNECT', `CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n${SMUGGLED}`),
  refused(
    'smuggled behind 101 headers',
    chatBytes({ more: Array.from({ length: 97 }, () => 'a: b') }) + SMUGGLED,
    431,
  ),
  // Inside a body it is text but not JSON, so it is refused, and the connection stays open.
  {
    ...refused('a request as body', framedBytes([`Content-Length: ${SMUGGLED.length}`], SMUGGLED)),
    afterwards: 'serves',
  },
  {
    ...refused(
      'a request as chunk',
      framedBytes(['Transfer-Encoding: chunked'], `${chunk(SMUGGLED)}0\r\n\r\n`),
    ),
    afterwards: 'serves',
  },
  // Without a length a request has no body, and what follows is the next request.
  {
    name: 'a body without a length',
    bytes: framedBytes([], CHAT_BODY),
    answers: [400],
    asked: 0,
    afterwards: 'closes',
  },
  {
    name: 'a body longer than its length',
    bytes: framedBytes([`Content-Length: ${LENGTH}`], `${CHAT_BODY}GARBAGE\r\n\r\n`),
    answers: [200],
    asked: 1,
    afterwards: 'closes',
  },
  {
    name: 'garbage after a request',
    bytes: `${chatBytes()}\0\0\0\0\r\n\r\n`,
    answers: [200],
    asked: 1,
    afterwards: 'closes',
  },
  // The first answer is complete; the connection was good until then.
  refusedSecond('a second request with a bare LF', chatBytes({ more: ['a: b\nc: d'] })),
  refusedSecond('a second request with two lengths', chatBytes({ more: ['Content-Length: 0'] })),
  refusedSecond(
    'a second request with 20 KiB',
    chatBytes({ more: [`a: ${'b'.repeat(20_000)}`] }),
    431,
  ),
  served('two requests at once', chatBytes() + chatBytes(), 2),
  served('five requests at once', chatBytes().repeat(5), 5),
  served('blank lines between requests', `${chatBytes()}\r\n\r\n${chatBytes()}`, 2),
  served('a chunked body', framedBytes(['Transfer-Encoding: chunked'], CHUNKED)),
  served(
    'a chunked body, coding in capitals',
    framedBytes(['Transfer-Encoding: Chunked'], CHUNKED),
  ),
  served(
    'a chunked body of single bytes',
    framedBytes(
      ['Transfer-Encoding: chunked'],
      `${[...CHAT_BODY].map((letter) => chunk(letter)).join('')}0\r\n\r\n`,
    ),
  ),
  served('spaces around a length', framedBytes([`Content-Length:  ${LENGTH} `], CHAT_BODY)),
  {
    ...refused('the end in the middle of a head', `${CHAT_LINE}\r\nHost: a`),
    ends: true,
  },
  {
    ...refused('the end in the middle of a body', framedBytes(['Content-Length: 500'], CHAT_BODY)),
    ends: true,
  },
  {
    ...refused(
      'the end in the middle of a chunk',
      framedBytes(['Transfer-Encoding: chunked'], `ff\r\n${CHAT_BODY}`),
    ),
    ends: true,
  },
]
