/** Refused preflights: logged with the origin and the reason, at a bounded rate. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PreflightLog, type PreflightParts } from '../../dataplane/listener/preflight-log.ts'

const CORS = { allowed_origins: ['https://app.test'], allow_credentials: false }

interface Line {
  readonly level: string
  readonly event: string
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

function aLog() {
  const lines: Line[] = []
  let now = 0
  const log = new PreflightLog(
    { now: () => now },
    {
      event: (level, event, message, fields = {}) => {
        lines.push({ level, event, message, fields })
      },
    },
  )
  const pass = (ms: number) => {
    now += ms
  }
  return { lines, log, pass }
}

const asked = (more: Partial<PreflightParts> = {}): PreflightParts => ({
  requestId: 'tag-1',
  origin: 'https://other.test',
  method: 'POST',
  cors: CORS,
  ...more,
})

const REFUSED: readonly (readonly [more: Partial<PreflightParts>, why: RegExp])[] = [
  [{}, /"https:\/\/other\.test" is not in gateway\.cors\.allowed_origins/],
  [{ origin: 'null' }, /"null" is not in/],
  [{ cors: { ...CORS, allowed_origins: [] } }, /gateway\.cors\.allowed_origins is empty/],
  [{ origin: 'https://app.test', method: 'PUT' }, /PUT is not one of GET, POST, DELETE, OPTIONS/],
]

for (const [more, why] of REFUSED) {
  test(`${JSON.stringify(more)} is refused, and the line has the reason`, () => {
    const { lines, log } = aLog()
    log.note(asked(more))
    const [line] = lines
    assert.deepEqual([lines.length, line?.level, line?.event], [1, 'warn', 'cors_refused'])
    assert.match(String(line?.fields.why), why)
    assert.match(line?.message ?? '', /preflight/)
    assert.partialDeepStrictEqual(line?.fields, {
      request_id: 'tag-1',
      origin: more.origin ?? 'https://other.test',
      method: more.method ?? 'POST',
    })
  })
}

test('an allowed preflight, and another request, leave no line', () => {
  const { lines, log } = aLog()
  log.note(asked({ origin: 'https://app.test' }))
  log.note(asked({ cors: { ...CORS, allowed_origins: ['*'] } }))
  log.note(asked({ origin: undefined }))
  log.note(asked({ method: undefined }))
  assert.deepEqual(lines, [])
})

test('ten lines a minute are written, and the next one has the number of suppressed ones', () => {
  const { lines, log, pass } = aLog()
  for (let count = 0; count < 1000; count++) log.note(asked())
  assert.equal(lines.length, 10)
  assert.equal(lines[9]?.fields.suppressed, undefined)
  pass(59_999)
  log.note(asked())
  assert.equal(lines.length, 10)
  pass(1)
  log.note(asked())
  log.note(asked())
  assert.deepEqual(
    lines.slice(10).map(({ fields }) => fields.suppressed),
    [991, undefined],
  )
})

test('an origin is shown short, printable and without keys', () => {
  const { lines, log } = aLog()
  log.note(asked({ origin: `\x1b[31m${'a'.repeat(5000)}`, method: 'M'.repeat(5000) }))
  log.note(asked({ origin: 'https://gw_live_client_0123456789' }))
  assert.ok(JSON.stringify(lines[0]).length < 1000)
  assert.doesNotMatch(String(lines[0]?.fields.origin), /\p{Cc}/u)
  assert.equal(lines[1]?.fields.origin, 'https://gw_***')
})
