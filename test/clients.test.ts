/**
 * The pages of tried clients are as new as the pinned clients, and the script of their sessions supports every wire.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { leading, shownRows } from './clients/page.ts'
import { ROWS } from './clients/rows.ts'
import { judge } from './clients/sessions/judge.ts'
import { leadingRows, shownSessions } from './clients/sessions/page.ts'
import { SESSION_ROWS, type SessionRow } from './clients/sessions/rows.ts'
import { startScripted } from './clients/sessions/scripted.ts'
import { JUDGED, promptOf } from './clients/sessions/steps.ts'
import { COLUMNS } from './clients/sessions/upstreams.ts'
import { send, wireOf } from './helpers/conversations/asked.ts'

test('each pinned client is on the page at its version; otherwise run make test-clients', () => {
  const shown = shownRows()
  assert.deepEqual(
    shown.map((row) => row.slice(0, 3)),
    ROWS.map(leading),
  )
})

test('each session of each pinned agent has a verdict on every step; otherwise run make test-clients', () => {
  const shown = shownSessions()
  assert.deepEqual(
    shown.map((row) => row.slice(0, 4)),
    leadingRows(),
  )
  for (const row of shown) assert.ok(!row.includes('') && !row.includes('not tried'), row.join())
})

test('a session without any request fails at every step', () => {
  const nothing = {
    row: SESSION_ROWS.at(-1) as SessionRow,
    root: '/',
    scripted: { heard: [], refused: ['refused'], endless: { begun: false, left: false } },
    between: { passed: [] },
    shown: {},
    edited: false,
    ran: false,
    log: [],
  }
  const good = JUDGED.filter((step) => judge(step, nothing).good)
  assert.deepEqual(good, [])
})

const { script } = SESSION_ROWS.at(-1) as SessionRow
const tools = ['read_file', 'run_command'].map((name) => ({
  name,
  schema: '{"type":"object","properties":{"path":{"type":"string"}}}',
}))

for (const column of COLUMNS) {
  const { vendor, settings, title } = column
  const turns = [{ who: 'user' as const, texts: [promptOf('work')] }]
  const conversation = { model: String(settings.model), system: [], turns, tools, maxTokens: 999 }

  for (const stream of [false, true]) {
    test(`the script speaks like ${title}, ${stream ? 'in events' : 'whole'}, and refuses the same requests`, async () => {
      const scripted = await startScripted(column, script, '/')
      after(() => scripted.upstream.close())
      const went = send(wireOf('chat', vendor, 'acme'), conversation, stream)
      assert.ok('sent' in went, JSON.stringify(went))
      const { path, headers, body } = went.sent
      const post = (sent: object) =>
        fetch(scripted.upstream.url + path, {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json' } as Record<string, string>,
          body: JSON.stringify(sent),
        })
      const answer = await post(body)
      assert.match(await answer.text(), /read_file/)
      assert.deepEqual(scripted.refused, [])
      const alone = { type: 'function_call_output', call_id: 'x', output: '' }
      const refusal = await post({ ...body, messages: [], contents: [], input: [alone] })
      assert.equal(refusal.status, 400)
      assert.equal(scripted.refused.length, 1)
    })
  }
}
