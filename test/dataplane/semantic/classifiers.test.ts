/** Prompts are judged by their meaning if a route has exemplars, and otherwise by their text. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { AuxiliaryError } from '../../../dataplane/auxiliaries/auxiliary.ts'
import type { Embeddings } from '../../../dataplane/auxiliaries/embeddings.ts'
import { Deadlines } from '../../../dataplane/base/clock.ts'
import { Classifiers } from '../../../dataplane/semantic/classifiers.ts'
import { scoreOf } from '../../../dataplane/semantic/similarity.ts'
import { aClock } from '../../helpers/clock.ts'
import { aSnapshotOf } from '../request/stages/snapshots.ts'
import { aRequest } from '../strategies/choices.ts'

const EASY = ['hello', 'thanks']
const HARD = ['prove it', 'design it']
const UPSTREAMS = ['a', 'b'].map((name) => ({
  ...{ name, provider: 'openai', endpoint: 'http://127.0.0.1:1', model: name },
}))
const TERMS = { requestId: 'r' }
type Embed = Embeddings['embed']

/** Easy texts point one way, hard ones another, `both` between them. */
const meaning: Embed = async (_, text) => {
  if (/prove|design|theorem/.test(text)) return Float32Array.of(0, 2)
  return /both/.test(text) ? Float32Array.of(3, 3) : Float32Array.of(5, 0)
}

function open(embedding: object = {}, embed: Embed = meaning) {
  const clock = aClock()
  const deadlines = new Deadlines(clock)
  const asked: string[] = []
  const world = {
    clock,
    deadlines,
    embeddings: {
      embed(...given: Parameters<Embed>) {
        asked.push(given[1])
        return world.next(...given)
      },
    },
    next: embed,
  }
  const classifiers = new Classifiers(world)
  const follow = (more: object = embedding) => {
    const exemplars = { easy: EASY, hard: HARD }
    const semantic = {
      ...{ easy: 'a', hard: 'b', classifier: 'embedding' },
      embedding: { upstream: 'a', exemplars, ...more },
    }
    const routes = [{ name: 'chat', strategy: 'semantic', semantic }]
    classifiers.follow(aSnapshotOf({ upstreams: UPSTREAMS, routes }).section)
  }
  follow()
  const pass = async (ms: number) => {
    clock.pass(ms)
    deadlines.sweep()
    await turn()
  }
  const judge = (text: string) => classifiers.judge({ name: 'chat' }, aRequest(text), TERMS)
  return { classifiers, world, asked, follow, pass, judge, deadlines }
}

test('a score follows from the distance to both sides', () => {
  const sides = { easy: [Float32Array.of(1, 0)], hard: [Float32Array.of(0, 1)] }
  const score = (...vector: number[]) => scoreOf(Float32Array.from(vector), sides)
  assert.equal(score(4, 4), 0.5)
  assert.ok((score(1, 0) ?? 1) < 0.001)
  assert.ok((score(0, 9) ?? 0) > 0.999)
  assert.equal(score(1, 0, 0), undefined)
})

test('only the three nearest exemplars of a side count', () => {
  const near = Array(3).fill(Float32Array.of(0, 1))
  const far = Array(200).fill(Float32Array.of(0, -1))
  const sides = { easy: [Float32Array.of(1, 0)], hard: [...far, ...near] }
  assert.ok((scoreOf(Float32Array.of(0, 1), sides) ?? 0) > 0.999)
})

test('exemplars are embedded in the background, each text once', async () => {
  const { classifiers, asked, pass, judge, deadlines } = open({
    exemplars: { easy: [...EASY, 'hello'], hard: HARD },
  })
  const before = await judge('please prove the theorem')
  assert.deepEqual(
    [before.classifier, before.reason],
    ['builtin', 'the exemplars are not embedded yet'],
  )
  await pass(1)
  assert.deepEqual(asked.toSorted(), [...EASY, ...HARD].toSorted())
  assert.partialDeepStrictEqual(classifiers.list(), [{ route: 'chat', ready: true, embedded: 4 }])
  assert.equal(deadlines.size, 0)
  const hard = await judge('a theorem')
  assert.deepEqual([hard.classifier, hard.score > 0.99], ['embedding', true])
  assert.ok((await judge('small talk')).score < 0.01)
  assert.equal((await judge('both')).score, 0.5)
})

test('a reload embeds only new exemplars', async () => {
  const { asked, follow, pass } = open()
  await pass(1)
  asked.length = 0
  follow()
  await pass(1)
  assert.deepEqual(asked, [])
  follow({ exemplars: { easy: EASY, hard: [...HARD, 'a theorem'] } })
  await pass(1)
  assert.deepEqual(asked, ['a theorem'])
  asked.length = 0
  follow({ model: 'other' })
  await pass(1)
  assert.equal(asked.length, 4)
})

test('failed exemplars are embedded again, at growing intervals', async () => {
  const { classifiers, world, asked, pass, judge } = open({}, async () => {
    throw new AuxiliaryError('error', 'upstream a: reset: gone')
  })
  await pass(1)
  const failed = asked.length
  assert.ok(failed >= 1 && failed <= 4)
  assert.equal((await judge('hello')).reason, 'upstream a: reset: gone')
  assert.partialDeepStrictEqual(classifiers.list(), [{ ready: false, embedded: 0 }])
  await pass(999)
  assert.equal(asked.length, failed)
  await pass(1)
  assert.ok(asked.length > failed)
  world.next = meaning
  await pass(2000)
  assert.equal((await judge('hello')).classifier, 'embedding')
})

test('a prompt without a vector is judged by its text', async () => {
  const { world, pass, judge } = open()
  await pass(1)
  const hard = 'Prove the theorem step by step and derive the general formula.'
  for (const [embed, reason] of [
    [() => Promise.reject(new AuxiliaryError('timeout', 'too late')), 'too late'],
    [() => Promise.reject(new TypeError('broken')), 'its text cannot be embedded'],
    [async () => Float32Array.of(1), 'its vector has another length than those of the exemplars'],
  ] as const) {
    world.next = embed
    const judged = await judge(hard)
    assert.deepEqual([judged.classifier, judged.reason], ['builtin', reason])
    assert.ok(judged.score >= 0.5)
  }
  world.next = meaning
  assert.equal((await judge('')).reason, 'there is no text to judge')
})

test('a removed route stops embedding', async () => {
  const { classifiers, asked, pass, deadlines } = open()
  classifiers.follow(aSnapshotOf({}).section)
  await pass(1)
  assert.deepEqual([asked, deadlines.size, classifiers.list()], [[], 0, []])
})
