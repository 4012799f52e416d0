/** A verdict on an answer that no client gets does not end the process. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { errorOf, startFront, startUpstream, whole } from '../../helpers/fake-upstream.ts'
import { FORBIDDEN, startSidecar } from '../../helpers/guardrail-sidecar.ts'

const [upstream, sidecar] = await Promise.all([startUpstream(), startSidecar()])
const front = await startFront({
  upstreams: [{ name: 'up', endpoint: upstream.url }],
  routes: [{ name: 'chat', strategy: 'single', primary: 'up', guardrails: ['words'] }],
  guardrails: [{ name: 'words', endpoint: sidecar.url, stage: 'output', timeout_ms: 60_000 }],
})
after(() => Promise.all([front.process.stop(), upstream.close(), sidecar.close()]))

test('a whole answer to a stream request fails, even if a guardrail blocks it', async () => {
  upstream.reply = whole(FORBIDDEN)
  const heard = await front.stream()
  assert.deepEqual([heard.status, errorOf(heard).code], [502, 'ERR_GW_UPSTREAM_ERROR'])
  upstream.reply = whole()
  assert.equal((await front.chat()).status, 200)
})
