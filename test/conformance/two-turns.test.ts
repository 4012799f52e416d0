/**
 * Two turns with tools and thinking at every provider: the second contains the first one's answer, and the vendor
 * accepts it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CLIENTS } from '../helpers/conversations/client/index.ts'
import type { Case, Conversation } from '../helpers/conversations/model.ts'
import { tryCase } from '../helpers/conversations/try-case.ts'
import { UPSTREAMS, type Upstream } from '../helpers/conversations/upstream/index.ts'

/** Ids that each vendor accepts. */
const IDS = ['D681PevK1', 'D681PevK2']
const SCHEMA = '{"type":"object","properties":{"command":{"type":"string"}}}'

function aCase(api: string, provider: string, model: string, stream: boolean): Case {
  const { signs, cannotThink } = UPSTREAMS[provider] as Upstream
  const conversation: Conversation = {
    model,
    system: ['Be brief.'],
    turns: [{ who: 'user', texts: ['Look.'] }],
    tools: [{ name: 'Bash', description: 'Runs a command.', schema: SCHEMA }],
    ...(!cannotThink && { effort: 'medium' }),
  }
  const calls = IDS.map((id) => ({ id, name: 'Bash', args: '{"command":"ls"}' }))
  const signature = signs === true && { signature: 'c2lnbmVkIGJ5IGl0' }
  const thinking = { text: 'Let me see.', ...signature }
  const answer = { text: 'I look.', calls, ...(!cannotThink && { thinking }) }
  const [style, forgets] = [{ seed: 3 }, false]
  return { api, provider, stream, conversation, answer, style, forgets }
}

/** The second turn as the upstream got it, in short. */
function sentBack(provider: string, second: string): string {
  const { thinking, signatures, calls } = (UPSTREAMS[provider] as Upstream).read(
    second,
    second.includes('"input":[') ? '/responses' : '/chat',
  )
  const answered = calls.filter(({ result }) => result !== undefined).length
  const thought = thinking === '' ? 'no thinking' : 'thinking'
  const signed = signatures.length > 0 ? ', signed' : ''
  return `${thought}${signed}, ${calls.length} calls, ${answered} results`
}

for (const [provider, { models }] of Object.entries(UPSTREAMS))
  test(`${provider} accepts a second turn with tools and thinking from each API, whole and streamed`, (t) => {
    for (const model of models) {
      const cells: string[] = []
      for (const { name: api } of CLIENTS)
        for (const stream of [false, true]) {
          const { broken, refused, shown } = tryCase(aCase(api, provider, model, stream))
          const at = `${api} ${stream ? 'streamed' : 'whole'} ${model}`
          assert.equal(refused, undefined, at)
          assert.deepEqual(broken, [], at)
          const seen = sentBack(provider, shown.second ?? assert.fail(at))
          assert.match(seen, /2 calls, 2 results/, at)
          if (!stream) cells.push(`${api}: ${seen}`)
        }
      t.diagnostic(`${model}: ${cells.join(' | ')}`)
    }
  })
