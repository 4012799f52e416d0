/** Header fields that are doubled, folded, too many or too large, or contain forbidden bytes. */
import { CHAT_BODY, CHAT_HEADERS, CHAT_LINE, chatBytes, chunk, KEY } from './front.ts'
import { answered, type Row, refused, served, wrongHeader } from './rows.ts'

const LENGTH = `Content-Length: ${CHAT_BODY.length}`
const [HOST = '', AUTHORIZATION = '', TYPE = ''] = CHAT_HEADERS

function headers(name: string, ...lines: string[]): Row {
  return refused(name, chatBytes({ headers: lines }))
}

function host(value: string): Row {
  return headers(`host: ${JSON.stringify(value)}`, `Host: ${value}`, AUTHORIZATION, TYPE, LENGTH)
}

function many(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `X-Header-${index}: ${index}`)
}

/** Every control byte is tried inside a name and inside a value; a value may contain a tab. */
const CONTROLS = [0, 1, 7, 8, 9, 11, 12, 14, 27, 31, 127]
const IN_NAMES = [...CONTROLS, ...Buffer.from(' "(),/;<=>?@[\\]{}\x80\xff', 'latin1')]

function shown(byte: number): string {
  return byte.toString(16).padStart(2, '0')
}

export const HEADER_ROWS: readonly Row[] = [
  headers('host: missing', AUTHORIZATION, TYPE, LENGTH),
  host('gateway.test/path'),
  host('user@gateway.test'),
  host('user:word@gateway.test'),
  host('gateway.test?query'),
  host('gateway.test#fragment'),
  host('gateway.test, other.test'),
  host('gateway.test other.test'),
  host('gateway.test\\other.test'),
  host('http://gateway.test'),
  host('gateway.test\tother'),
  host('g\xc3\xa4teway.test'),
  host('<script>'),
  host("gateway.test'--"),
  wrongHeader('host: twice, the same', HOST),
  wrongHeader('host: twice, another', 'Host: other.test'),
  wrongHeader('host: twice, other case', 'hOsT: other.test'),
  wrongHeader('host: twice, empty', 'Host:'),
  wrongHeader('authorization: twice, the same', AUTHORIZATION),
  wrongHeader('authorization: twice, another', 'Authorization: Bearer other'),
  wrongHeader('authorization: twice, other case', 'AUTHORIZATION: Bearer other'),
  wrongHeader('authorization: twice, another scheme', 'Authorization: Basic b3RoZXI='),
  wrongHeader('x-api-key beside another key', 'X-Api-Key: other'),
  wrongHeader('api-key beside another key', 'Api-Key: other'),
  wrongHeader('x-api-key: twice', `X-Api-Key: ${KEY}`, `X-Api-Key: ${KEY}`),
  wrongHeader('content type: twice', TYPE),
  wrongHeader('content type: twice, another', 'content-type: text/plain'),
  wrongHeader('content encoding: twice', 'Content-Encoding: identity', 'content-encoding: gzip'),
  wrongHeader('expect: unknown', 'Expect: 200-ok'),
  wrongHeader('expect: empty', 'Expect:'),
  wrongHeader('expect: two values', 'Expect: 100-continue, 100-continue'),
  wrongHeader('expect: twice', 'Expect: 100-continue', 'Expect: 100-continue'),
  wrongHeader('expect: with a parameter', 'Expect: 100-continue;q=1'),
  served(
    'upgrade: h2c',
    chatBytes({
      more: ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMA'],
    }),
  ),
  served(
    'upgrade: h2c, as Java offers it with chunks',
    chatBytes({
      headers: [
        'Connection: Upgrade, HTTP2-Settings',
        'Transfer-encoding: chunked',
        HOST,
        'HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA',
        'Upgrade: h2c',
        'User-Agent: Java-http-client/17.0.15',
        AUTHORIZATION,
        TYPE,
      ],
      body: `${chunk(CHAT_BODY)}0\r\n\r\n`,
    }),
  ),
  answered(
    'upgrade: h2c, of a request without a body',
    200,
    `${['GET /v1/models HTTP/1.1', HOST, AUTHORIZATION, 'Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMA'].join('\r\n')}\r\n\r\n`,
  ),
  answered(
    'upgrade: h2c, where Node reads',
    200,
    `${['GET /v1/models?a=b HTTP/1.1', HOST, AUTHORIZATION, 'Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMA'].join('\r\n')}\r\n\r\n`,
  ),
  served(
    'upgrade: websocket',
    chatBytes({
      more: ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'],
    }),
  ),
  served('upgrade: without Connection', chatBytes({ more: ['Upgrade: websocket'] })),
  served('upgrade: unknown', chatBytes({ more: ['Connection: upgrade', 'Upgrade: x'] })),
  served('upgrade: twice', chatBytes({ more: ['Upgrade: h2c', 'Upgrade: TLS/1.0'] })),
  served(
    'upgrade: a second request after the offer',
    chatBytes({ more: ['Connection: Upgrade', 'Upgrade: h2c'] }) + chatBytes(),
    2,
  ),
  wrongHeader('folded value', 'X-Folded: one', ' two'),
  wrongHeader('folded value with a tab', 'X-Folded: one', '\ttwo'),
  wrongHeader('folded Content-Length', 'X-Folded: one', ' Content-Length: 5'),
  headers('folded Host', 'Host: gateway', ' .test', AUTHORIZATION, TYPE, LENGTH),
  headers('space before the first header', ` ${HOST}`, AUTHORIZATION, TYPE, LENGTH),
  headers('tab before the first header', `\t${HOST}`, AUTHORIZATION, TYPE, LENGTH),
  wrongHeader('space before the colon', 'X-Name : value'),
  wrongHeader('tab before the colon', 'X-Name\t: value'),
  wrongHeader('space before the colon of Content-Length', `Content-Length : 5`),
  wrongHeader('space before the colon of Transfer-Encoding', 'Transfer-Encoding : chunked'),
  wrongHeader('no colon', 'X-Name'),
  wrongHeader('no name', ': value'),
  wrongHeader('bare carriage return in a value', 'X-Name: one\rX-Other: two'),
  wrongHeader('bare carriage return before a framing header', 'X: y\rTransfer-Encoding: chunked'),
  wrongHeader('bare line feed as line end', 'X-Name: one\nX-Other: two'),
  wrongHeader('bare line feed before a framing header', 'X: y\nTransfer-Encoding: chunked'),
  wrongHeader('NUL before a line end', 'X-Name: one\0\nX-Other: two'),
  refused(
    'all line ends bare line feeds',
    [CHAT_LINE, ...CHAT_HEADERS, LENGTH, '', CHAT_BODY].join('\n'),
  ),
  refused(
    'all line ends bare carriage returns',
    `${[CHAT_LINE, ...CHAT_HEADERS, LENGTH, '', ''].join('\r')}${CHAT_BODY}\r\n\r\n`,
  ),
  refused(
    'head ended by CR LF CR and a letter',
    `${[CHAT_LINE, ...CHAT_HEADERS, LENGTH].join('\r\n')}\r\n\rX${CHAT_BODY}`,
  ),
  refused(
    'head ended by CR LF LF',
    `${[CHAT_LINE, ...CHAT_HEADERS, LENGTH].join('\r\n')}\r\n\n${CHAT_BODY}`,
  ),
  ...IN_NAMES.map((byte) =>
    wrongHeader(`byte ${shown(byte)} in a name`, `X-${String.fromCharCode(byte)}Name: value`),
  ),
  ...CONTROLS.filter((byte) => byte !== 9).map((byte) =>
    wrongHeader(`byte ${shown(byte)} in a value`, `X-Name: a${String.fromCharCode(byte)}b`),
  ),
  refused('101 headers', chatBytes({ more: many(97) }), 431),
  refused('1,000 headers', chatBytes({ more: many(996) }), 431),
  refused(
    '2,000 short headers',
    chatBytes({ more: Array.from({ length: 1996 }, () => 'a:') }),
    431,
  ),
  refused('3,000 headers', chatBytes({ more: many(2996) }), 431),
  refused(
    '3,000 short headers',
    chatBytes({ more: Array.from({ length: 2996 }, () => 'a:') }),
    431,
  ),
  refused('a value of 64 KiB', chatBytes({ more: [`X-Long: ${'a'.repeat(65_536)}`] }), 431),
  refused('a name of 64 KiB', chatBytes({ more: [`${'a'.repeat(65_536)}: b`] }), 431),
  refused('a value of 1 MiB', chatBytes({ more: [`X-Long: ${'a'.repeat(1_048_576)}`] }), 431),
  refused('17 KiB of headers', chatBytes({ more: [`X-Long: ${'a'.repeat(17_408)}`] }), 431),
  // Leading space is skipped and not stored, so it does not count.
  served('17 KiB of spaces', chatBytes({ more: [`X-Long:${' '.repeat(17_408)}a`] })),
  refused('a key of 17 KiB', chatBytes({ more: [`Cookie: ${KEY.repeat(4000)}`] }), 431),
  served('100 headers', chatBytes({ more: many(96) })),
  served('15 KiB of headers', chatBytes({ more: [`X-Long: ${'a'.repeat(15_000)}`] })),
  served('a tab in a value', chatBytes({ more: ['X-Name: a\tb'] })),
  served('bytes above 127 in a value', chatBytes({ more: ['X-Name: \xc3\xa9\xff'] })),
  served('an empty value', chatBytes({ more: ['X-Name:'] })),
  served('the same key twice over', chatBytes({ more: [`X-Api-Key: ${KEY}`] })),
  served('a header named __proto__', chatBytes({ more: ['__proto__: x', 'constructor: y'] })),
  served(
    'connection header that names our headers',
    chatBytes({ more: ['Connection: keep-alive, Authorization, Host'] }),
  ),
  served(
    'headers of proxies',
    chatBytes({ more: ['X-Forwarded-For: 10.0.0.1', 'X-Original-URL: /admin'] }),
  ),
  served('spaces around a value', chatBytes({ more: ['X-Name:   \t value \t '] })),
  served('a blank line before the request', `\r\n${chatBytes()}`),
]
