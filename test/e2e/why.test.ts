/**
 * Incidents planted in a gateway of the cluster: the first sentence of `gw why` names the cause.
 * GW_LONG=1 plants all of them; GW_INCIDENT chooses some by a part of their name.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { CLUSTER } from './incidents/cluster.ts'
import { type Explained, explain } from './incidents/incident.ts'
import { REQUESTS } from './incidents/requests.ts'
import { openRig, type Rig } from './incidents/rig.ts'
import { show } from './table.ts'

const { GW_LONG, GW_INCIDENT } = process.env
/** Those that only a cluster shows, in seconds. */
const SHORT = ['deleted Secret', 'edit that is refused', 'Service that is missing', 'operator that']
const ALL = [...REQUESTS, ...CLUSTER]
const CHOSEN = GW_INCIDENT !== undefined ? GW_INCIDENT.split(',') : GW_LONG ? [''] : SHORT
const INCIDENTS = ALL.filter(({ what }) => CHOSEN.some((part) => what.includes(part)))

const explained: Explained[] = []
let rig: Rig

before(async () => {
  rig = await openRig()
})

after(() => rig?.close())

for (const incident of INCIDENTS) {
  test(`the first sentence names ${incident.what}`, async () => {
    explained.push(await explain(rig, incident))
  })
}

test('each planted incident was named', () => {
  assert.equal(explained.length, INCIDENTS.length)
  const longest = Math.max(...explained.map(({ seconds }) => seconds))
  show('why', `${explained.length} of ${INCIDENTS.length}, after ${longest.toFixed(0)} s at most`)
})
