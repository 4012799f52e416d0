/** Random conversations of agents, over every API of clients and every provider: the invariants of each turn. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cases } from '../helpers/cases.ts'
import { aCase, autoMarked } from '../helpers/conversations/a-case.ts'
import { CLIENTS } from '../helpers/conversations/client/index.ts'
import type { Broken } from '../helpers/conversations/invariants.ts'
import type { Case } from '../helpers/conversations/model.ts'
import { shrunk } from '../helpers/conversations/shrink.ts'
import { type Tried, tryCase } from '../helpers/conversations/try-case.ts'
import { UPSTREAMS } from '../helpers/conversations/upstream/index.ts'
import { KNOWN } from '../helpers/vendors/rules/known-faults.ts'

interface Ways {
  readonly api: string
  readonly provider: string
  readonly isNative?: boolean
  readonly isAutoMarked?: boolean
}

const PAIRS = CLIENTS.flatMap(({ name: api }): Ways[] =>
  Object.keys(UPSTREAMS).map((provider) => ({ api, provider })),
).concat(
  ['openai', 'azure_openai', 'vllm'].map((provider) => ({
    api: 'responses',
    provider,
    isNative: true,
  })),
  ['vllm', 'openai'].map((provider) => ({ api: 'messages', provider, isNative: true })),
  CLIENTS.flatMap(({ name: api }) =>
    ['anthropic', 'bedrock'].map((provider) => ({ api, provider, isAutoMarked: true })),
  ),
)
/**
 * `GW_CASES` conversations from `GW_SEED` on for each pair; otherwise as many as fit the time of a run, 100,000 at
 * length.
 */
const CASES = Number(process.env.GW_CASES ?? cases(60, Math.ceil(100_000 / PAIRS.length)))
const SEED = Number(process.env.GW_SEED ?? 0)
/** Kinds whose smallest case is printed, because one mistake breaks thousands. */
const SAMPLES_MAX = 3
const SHOWN_MAX = 3_000

const seen = new Set<string>()

for (const [place, { api, provider, isNative, isAutoMarked }] of PAIRS.entries()) {
  const way = isNative ? ', which speaks it too' : isAutoMarked ? ' with cache: auto' : ''
  const name = `${api} to ${provider}${way}`
  test(`${name}: a turn is accepted, means the same, and comes back whole`, () => {
    const failed = new Map<string, Case>()
    const first = SEED + place * 1_000_003
    for (let seed = first; seed < first + CASES; seed++) {
      const made = aCase(seed, api, provider, isNative)
      const one = isAutoMarked ? autoMarked(made) : made
      for (const { kind } of brokenBy(one)) {
        seen.add(kind)
        if (!(kind in KNOWN) && !failed.has(kind)) failed.set(kind, one)
      }
    }
    const samples = [...failed].slice(0, SAMPLES_MAX).map(([kind, one]) => fixtureOf(kind, one))
    assert.equal(failed.size, 0, `${failed.size} kinds of faults\n${samples.join('\n')}`)
  })
}

test('each known fault still shows', () => {
  const gone = Object.keys(KNOWN).filter((kind) => !seen.has(kind))
  const isWhole = process.env.GW_SEED === undefined && process.env.GW_CASES === undefined
  if (isWhole) assert.deepEqual(gone, [], 'Take these lines out of known-faults.ts.')
})

function brokenBy(one: Case): readonly Broken[] {
  try {
    return tryCase(one).broken
  } catch (error) {
    return [{ kind: 'an exception', detail: (error as Error).stack ?? '' }]
  }
}

/** The smallest case that shows the fault, with all messages in both directions. */
function fixtureOf(kind: string, found: Case): string {
  const isBroken = (one: Case) => brokenBy(one).some((each) => each.kind === kind)
  const small = shrunk(found, isBroken)
  const detail = brokenBy(small).find((each) => each.kind === kind)?.detail
  const shown: Tried['shown'] = kind === 'an exception' ? {} : tryCase(small).shown
  const texts = Object.entries(shown).map(([name, text]) => `${name}: ${text.slice(0, SHOWN_MAX)}`)
  const stream = small.stream ? `streamed as ${JSON.stringify(small.style)}` : 'whole'
  return [`${kind}\n${detail}\n${stream}`, ...texts, ''].join('\n')
}
