/** The digest of a presented key: hashed for each request, or compared with the last key of its connection. */
import { hash } from 'node:crypto'
import { compare, type Work } from './runner.ts'

const key = `gw_${'0123456789abcdef'.repeat(3)}`
const head = `host: gateway\r\nauthorization: Bearer ${key}\r\naccept: */*`
const last = { key: '', digest: '' }

function remembered(presented: string): string {
  if (last.key !== presented) {
    last.key = presented
    last.digest = hash('sha256', presented)
  }
  return last.digest
}

/** Each request has a new string. */
const requests =
  (digestOf: (presented: string) => string): Work =>
  (times) => {
    const from = head.indexOf(key)
    const bytes = Buffer.from(head)
    for (let request = 0; request < times; request++)
      digestOf(bytes.toString('latin1', from, from + key.length))
  }

await compare(import.meta.url, 1_000_000, {
  hashed: requests((presented) => hash('sha256', presented)),
  remembered: requests(remembered),
})
