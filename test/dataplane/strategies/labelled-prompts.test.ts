/** The built-in classifier, measured on prompts that people have labelled. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { difficultyOf } from '../../../dataplane/strategies/difficulty.ts'
import { aRequest } from './choices.ts'

interface Labelled {
  readonly easy: readonly string[]
  readonly hard: readonly string[]
}

const FILE = new URL('../../fixtures/semantic/prompts.json', import.meta.url)
const PROMPTS: Labelled = JSON.parse(readFileSync(FILE, 'utf8'))

/** As `docs/semantic.md` says. */
const EASY_MIN = 0.98
const HARD_MIN = 0.75

test('at the default threshold most labelled prompts go to the right side', (context) => {
  const isHard = (prompt: string) => difficultyOf(aRequest(prompt).body) >= 0.5
  const share = (prompts: readonly string[], side: boolean) =>
    prompts.filter((prompt) => isHard(prompt) === side).length / prompts.length
  const easy = share(PROMPTS.easy, false)
  const hard = share(PROMPTS.hard, true)
  const shown = (part: number) => `${(100 * part).toFixed(1)} %`
  context.diagnostic(
    `right: ${shown((easy + hard) / 2)} of ${PROMPTS.easy.length + PROMPTS.hard.length} prompts; easy ${shown(easy)}, hard ${shown(hard)}`,
  )
  assert.ok(easy >= EASY_MIN, `easy: ${shown(easy)}`)
  assert.ok(hard >= HARD_MIN, `hard: ${shown(hard)}`)
})
