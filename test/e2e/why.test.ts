/**
 * Incidents planted in a gateway of the cluster: the first sentence of `gw why` names the cause.
 * GW_LONG=1 plants all of them and writes incidents.md; GW_INCIDENT chooses some by a part of their name.
 */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { CLUSTER } from './incidents/cluster.ts'
import { type Explained, explain } from './incidents/incident.ts'
import { REQUESTS } from './incidents/requests.ts'
import { openRig, type Rig } from './incidents/rig.ts'
import { show } from './table.ts'

const { GW_LONG, GW_INCIDENT } = process.env
const PAGE = join(import.meta.dirname, 'incidents.md')
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

test('each planted incident was named', async () => {
  assert.equal(explained.length, INCIDENTS.length)
  const longest = Math.max(...explained.map(({ seconds }) => seconds))
  show('why', `${explained.length} of ${INCIDENTS.length}, after ${longest.toFixed(0)} s at most`)
  if (CHOSEN[0] === '') await writeFile(PAGE, pageOf(explained))
})

function pageOf(all: readonly Explained[]): string {
  const rows = all.map(({ what, seconds, sentence }) => {
    return `| ${what} | ${seconds.toFixed(0)} | ${sentence.replaceAll('|', '\\|')} |`
  })
  return `# Planted incidents

\`GW_LONG=1 npm run test:e2e -- test/e2e/why.test.ts\` plants these in a cluster of one node, one after another, and writes this
page. The seconds contain the plant, the requests that notice it, and \`gw why\`.

| planted | seconds | the first sentence of \`gw why\` |
| --- | --- | --- |
${rows.join('\n')}
`
}
