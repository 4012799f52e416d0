/** The files of the page, read and compressed at first use, with their security headers. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { extname, join } from 'node:path'
import { constants, gzipSync } from 'node:zlib'
import { rowOf } from '../json/values.ts'
import type { FieldFacts } from '../telemetry/trace/field.ts'
import { ATTEMPT_FIELDS, TRACE_FIELDS } from '../telemetry/trace/fields.ts'

const FOLDER = join(import.meta.dirname, 'page')

/** Every answer to a browser has them: no foreign script, no frame around the page, no reader of another origin. */
const GUARDED: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

/** The data is current, and only for its reader. */
export const DATA_HEADERS: Readonly<Record<string, string>> = {
  ...GUARDED,
  'cache-control': 'no-store',
}

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

interface PageFile {
  readonly type: string
  readonly etag: string
  readonly bytes: Buffer
  readonly compressed: Buffer
}

let files: ReadonlyMap<string, PageFile> | undefined

/** `path`: the part after `/console/`; only files of the folder are served. */
export function sendPageFile(
  path: string,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): void {
  files ??= new Map(readAll())
  const file = files.get(path === '' ? 'index.html' : path)
  if (file === undefined) {
    outgoing.writeHead(404, { ...DATA_HEADERS, 'content-type': 'text/plain; charset=utf-8' })
    outgoing.end('There is no such file in the console.')
    return
  }
  const { type, etag, bytes, compressed } = file
  const head = { ...GUARDED, etag, 'cache-control': 'no-cache', vary: 'accept-encoding' }
  if (incoming.headers['if-none-match'] === etag) {
    outgoing.writeHead(304, head).end()
    return
  }
  const isCompressed = /\bgzip\b/.test(String(incoming.headers['accept-encoding'] ?? ''))
  const body = isCompressed ? compressed : bytes
  outgoing.writeHead(200, {
    ...head,
    'content-type': type,
    'content-length': body.length,
    ...(isCompressed && { 'content-encoding': 'gzip' }),
  })
  outgoing.end(incoming.method === 'HEAD' ? undefined : body)
}

function* readAll(): Generator<[string, PageFile]> {
  for (const name of readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })) {
    const type = rowOf<string>(TYPES, extname(name))
    if (type === undefined) continue
    yield [name.replaceAll('\\', '/'), pageFile(type, readFileSync(join(FOLDER, name)))]
  }
  yield ['trace-fields.js', pageFile(TYPES['.js'], Buffer.from(traceFields()))]
}

function pageFile(type: string, bytes: Buffer): PageFile {
  const digest = createHash('sha256').update(bytes).digest('base64url').slice(0, 22)
  const compressed = gzipSync(bytes, { level: constants.Z_BEST_COMPRESSION })
  return { type, etag: `"${digest}"`, bytes, compressed }
}

/** The label of each field in the line of a decision. */
function traceFields(): string {
  return [
    `export const TRACE_FIELDS = ${JSON.stringify(wordsOf(TRACE_FIELDS))}`,
    `export const ATTEMPT_FIELDS = ${JSON.stringify(wordsOf(ATTEMPT_FIELDS))}`,
  ].join('\n')
}

function wordsOf(fields: Readonly<Record<string, FieldFacts>>): [name: string, words: string][] {
  return Object.entries(fields).flatMap(([name, { console: words }]) =>
    words === undefined ? [] : [[name, words]],
  )
}
