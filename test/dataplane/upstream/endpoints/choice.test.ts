/** The choice between endpoints: how evenly it loads them, and how stable it is. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  affine,
  hashOf,
  type Loaded,
  least,
  mixed,
} from '../../../../dataplane/upstream/endpoints/choice.ts'
import { aRandom } from '../../../helpers/random.ts'

class Place implements Loaded {
  readonly id: string
  readonly hash: number
  here = 0
  crammed = false

  constructor(id: string) {
    this.id = id
    this.hash = mixed(hashOf(id))
  }

  get inFlight(): number {
    return this.here
  }

  load(): number {
    return this.here
  }

  isCrammed(): boolean {
    return this.crammed
  }
}

const places = (count: number) =>
  Array.from({ length: count }, (_, index) => new Place(`10.0.0.${index + 1} 8000`))
const keys = Array.from({ length: 2000 }, (_, index) => hashOf(`session ${index}`))

test('idle endpoints take turns', () => {
  const three = places(3)
  const chosen = [0, 1, 2, 3, 4, 5].map((turn) => least(three, turn, () => 0.9, 0)?.id)
  assert.deepEqual(new Set(chosen.slice(0, 3)).size, 3)
  assert.deepEqual(chosen.slice(3), chosen.slice(0, 3))
})

test('of two endpoints the less loaded is taken', () => {
  const [one, other] = places(2) as [Place, Place]
  one.here = 2
  for (const turn of [0, 1])
    assert.equal(
      least([one, other], turn, () => 0, 0),
      other,
    )
})

test('an endpoint without room for a conversation is skipped while another has some', () => {
  const three = places(3) as [Place, Place, Place]
  three[0].crammed = true
  three[1].crammed = true
  three[2].here = 5
  for (let turn = 0; turn < 6; turn++)
    assert.equal(
      least(three, turn, () => 0, 0),
      three[2],
    )
  three[2].crammed = true
  assert.notEqual(
    least(three, 0, () => 0, 0),
    undefined,
  )
})

test('there is no choice among none', () => {
  assert.equal(
    least([], 3, () => 0, 0),
    undefined,
  )
  assert.equal(affine([], 3, 0), undefined)
})

test('every gateway chooses the same endpoint for the same key', () => {
  const [here, there] = [places(8), places(8).reverse()]
  for (const key of keys) assert.equal(affine(here, key, 0)?.id, affine(there, key, 0)?.id)
})

test('without one of eight endpoints only little more than its own keys move', () => {
  const eight = places(8)
  const seven = eight.slice(1)
  const moved = keys.filter((key) => affine(eight, key, 0) !== affine(seven, key, 0)).length
  assert.ok(moved / keys.length <= 1 / 8 + 0.02, `${moved} of ${keys.length} moved`)
})

test('keys are spread evenly', () => {
  const eight = places(8)
  const counts = new Map<string, number>()
  for (const key of keys) {
    const id = affine(eight, key, 0)?.id ?? ''
    counts.set(id, (counts.get(id) ?? 0) + 1)
  }
  assert.equal(counts.size, 8)
  assert.ok(Math.max(...counts.values()) <= 1.3 * (keys.length / 8))
})

test('a key with most of the traffic spills over, and no endpoint has far more than the mean', () => {
  const below = aRandom(7)
  const random = () => below(1_000_000) / 1_000_000
  const eight = places(8)
  const running: Place[] = []
  const seen = new Map<number, Set<Place>>()
  let [hits, turns] = [0, 0]
  for (let count = 0; count < 20_000; count++) {
    const isHot = random() < 0.6
    const key = isHot ? hashOf('hot') : (keys[Math.floor(random() * 300)] as number)
    const place = affine(eight, key, 0) as Place
    place.here++
    running.push(place)
    const mean = running.length / eight.length
    assert.ok(place.here <= 1.25 * mean + 1, `${place.here} where the mean is ${mean}`)
    if (!isHot) {
      const places = seen.get(key) ?? new Set()
      if (places.size > 0) {
        turns++
        if (places.has(place)) hits++
      }
      seen.set(key, places.add(place))
    }
    if (running.length > 64) {
      const [gone] = running.splice(Math.floor(random() * running.length), 1) as [Place]
      gone.here--
    }
  }
  assert.ok(hits / turns >= 0.85, `${hits} of ${turns} hit`)
})
