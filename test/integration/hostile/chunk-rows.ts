/** Chunked bodies with invalid sizes, extensions, line ends and trailers. */
import { CHAT_BODY, chatBytes, chunk, framedBytes } from './front.ts'
import { type Row, refused, served } from './rows.ts'

const SIZE = CHAT_BODY.length.toString(16)
const END = '0\r\n\r\n'
const SMUGGLED = chatBytes()

function bytesOf(body: string): string {
  return framedBytes(['Transfer-Encoding: chunked'], body)
}

function chunks(name: string, body: string): Row {
  return refused(`chunks: ${name}`, bytesOf(body))
}

function size(text: string): Row {
  return chunks(`size ${JSON.stringify(text.slice(0, 30))}`, `${text}\r\n${CHAT_BODY}\r\n${END}`)
}

export const CHUNK_ROWS: readonly Row[] = [
  size('-1'),
  size(`-${SIZE}`),
  size(`+${SIZE}`),
  size(`0x${SIZE}`),
  size(`0X${SIZE}`),
  size(` ${SIZE}`),
  size(`\t${SIZE}`),
  size(`${SIZE} `),
  size(`${SIZE}\t`),
  size(`${SIZE}h`),
  size(`${SIZE}.0`),
  size(`${SIZE}_`),
  size(`"${SIZE}"`),
  size(`${SIZE}\0`),
  size(''),
  size(' '),
  size('g'),
  size('zz'),
  size('\xb2'),
  size('ffffffffffffffffff'),
  size('fffffffffffffffff'),
  size('10000000000000000'),
  size('1'.repeat(300)),
  size(`${SIZE} ;name=value`),
  size(`${SIZE};name=\nvalue`),
  size(`${SIZE};name=\rvalue`),
  size(`${SIZE};name=\0value`),
  size(`${SIZE};\x01`),
  size(`${SIZE};na me=value`),
  size(`${SIZE};name="open`),
  size(`${SIZE};${'e'.repeat(20_000)}`),
  chunks('size line ended by LF', `${SIZE}\n${CHAT_BODY}\r\n${END}`),
  chunks('size line ended by CR', `${SIZE}\r${CHAT_BODY}\r\n${END}`),
  chunks('size line ended by CR and a letter', `${SIZE}\rx${CHAT_BODY}\r\n${END}`),
  chunks('data ended by LF', `${SIZE}\r\n${CHAT_BODY}\n${END}`),
  chunks('data ended by CR', `${SIZE}\r\n${CHAT_BODY}\r${END}`),
  chunks('data ended by nothing', `${SIZE}\r\n${CHAT_BODY}${END}`),
  chunks('data ended by two letters', `${SIZE}\r\n${CHAT_BODY}xx${END}`),
  chunks('data longer than its size', `5\r\n${CHAT_BODY}\r\n${END}`),
  chunks('last chunk ended by LF', `${chunk(CHAT_BODY)}0\n\n`),
  chunks('last chunk ended by CR', `${chunk(CHAT_BODY)}0\r\r`),
  chunks('last chunk with garbage', `${chunk(CHAT_BODY)}0\r\ngarbage\r\n\r\n`),
  chunks('trailer with a space before the colon', `${chunk(CHAT_BODY)}0\r\nX-Trailer : a\r\n\r\n`),
  chunks('trailer that would frame a message', `${chunk(CHAT_BODY)}0\r\nContent-Length: 5\r\n\r\n`),
  chunks('trailer with a NUL', `${chunk(CHAT_BODY)}0\r\nX-Trailer: a\0b\r\n\r\n`),
  chunks('trailer with a bare LF', `${chunk(CHAT_BODY)}0\r\nX-Trailer: a\nb\r\n\r\n`),
  chunks('trailer folded', `${chunk(CHAT_BODY)}0\r\nX-Trailer: a\r\n b\r\n\r\n`),
  refused(
    'chunks: 17 KiB of trailers',
    bytesOf(`${chunk(CHAT_BODY)}0\r\nX-Trailer: ${'a'.repeat(17_408)}\r\n\r\n`),
    431,
  ),
  chunks('smuggled after a bad size', `0x0\r\n\r\n${SMUGGLED}`),
  chunks('smuggled after an LF terminator', `0\n\n${SMUGGLED}`),
  chunks('smuggled in an extension', `5;\n${SMUGGLED}`),
  chunks('smuggled after data without an end', `1\r\nab${END}${SMUGGLED}`),
  served('chunks: upper-case size', bytesOf(`${SIZE.toUpperCase()}\r\n${CHAT_BODY}\r\n${END}`)),
  served('chunks: leading zeros', bytesOf(`000${SIZE}\r\n${CHAT_BODY}\r\n${END}`)),
  served('chunks: an extension', bytesOf(`${chunk(CHAT_BODY, ';name=value')}${END}`)),
  served('chunks: a quoted extension', bytesOf(`${chunk(CHAT_BODY, ';name="a b"')}${END}`)),
  served('chunks: several zeros at the end', bytesOf(`${chunk(CHAT_BODY)}0000\r\n\r\n`)),
  served(
    'chunks: a trailer that names a key',
    bytesOf(`${chunk(CHAT_BODY)}0\r\nHost: b\r\nAuthorization: Bearer x\r\n\r\n`),
  ),
  served('chunks: a trailer', bytesOf(`${chunk(CHAT_BODY)}0\r\nX-Trailer: a\r\n\r\n`)),
  served('chunks: an extension without a name', bytesOf(`${chunk(CHAT_BODY, ';=value')}${END}`)),
  served(
    'chunks: 20 KiB of extensions over many chunks',
    bytesOf(`${chunk(' ', `;${'e'.repeat(2000)}`).repeat(10)}${chunk(CHAT_BODY)}${END}`),
  ),
]
