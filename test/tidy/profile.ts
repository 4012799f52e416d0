/** The profile of the benchmark knows the files of the data plane. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { code, product } from './sources.ts'

const STAGES = 'test/bench/profile/stages.ts'

test('each place of a profile exists and has files that no earlier place takes', () => {
  const { text } = code.find(({ path }) => path === STAGES) ?? { text: '' }
  const places = [...text.matchAll(/^ {2}\['([^']+)', '/gm)].map(([, place = '']) => place)
  assert.ok(places.length > 20, `${STAGES} lists places, one a line`)
  let rest = product.map(({ path }) => path)
  for (const place of places) {
    const others = rest.filter((path) => !path.startsWith(`dataplane/${place}`))
    assert.notEqual(others.length, rest.length, `${place} of ${STAGES}: name a folder that exists`)
    rest = others
  }
})
