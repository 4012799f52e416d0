/** The strings of a small body: found byte by byte or by a search, and common names with or without a text of them. */
import { commonName } from '../../../dataplane/json/names.ts'
import { QUOTE, quoteFrom } from '../../../dataplane/json/tokens.ts'
import { compare } from './runner.ts'

const body = Buffer.from(
  '{"model":"chat","max_tokens":100,"messages":[{"role":"user","content":"Is it raining?"}]}',
)
const seen = { length: 0 }

function scan(next: (from: number) => number, nameOf: (start: number, end: number) => string) {
  for (let at = next(0); at !== -1; ) {
    const end = next(at + 1)
    seen.length += nameOf(at + 1, end).length
    at = next(end + 1)
  }
}

const near = (from: number) => quoteFrom(body, from)
const searched = (from: number) => body.indexOf(QUOTE, from)
const read = (start: number, end: number) => body.toString('utf8', start, end)
const known = (start: number, end: number) => commonName(body, start, end) ?? read(start, end)

const scans =
  (...how: Parameters<typeof scan>) =>
  (times: number) => {
    for (let request = 0; request < times; request++) scan(...how)
  }

await compare(import.meta.url, 300_000, {
  'byte by byte, common names': scans(near, known),
  'byte by byte': scans(near, read),
  'by a search': scans(searched, read),
})
