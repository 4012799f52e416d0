/** `gw tokens verify` against real runtimes: a tokenizer.json and the usage that they report, chat template included. */
import assert from 'node:assert/strict'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { startFront } from '../helpers/fake-upstream.ts'
import { gw } from '../helpers/gw.ts'
import { prepareModel } from '../helpers/model/model-server.ts'
import { startOllama } from './ollama.ts'
import { startTransformers } from './transformers.ts'

const [ollama, transformers] = await Promise.all([startOllama(), startTransformers()])
const tokenizer = { file: join(dirname(await prepareModel('script', 0)), 'tokenizer.json') }
const front = await startFront({
  upstreams: [
    { name: 'ollama', provider: 'ollama', endpoint: ollama.url, model: 'tiny', tokenizer },
    { name: 'transformers', endpoint: `${transformers.url}/v1`, model: '/mnt/tiny', tokenizer },
  ],
  routes: ['ollama', 'transformers'].map((name) => ({ name, strategy: 'single', primary: name })),
})
after(async () => {
  await front.process.stop()
  await Promise.all([ollama.stop(), transformers.stop()])
})

for (const upstream of ['ollama', 'transformers']) {
  test(`what is counted for ${upstream} is what it has used`, async (context) => {
    const asked = ['--admin', front.process.adminUrl, '--upstream', upstream, '--sample', '18']
    const { code, stdout } = await gw('tokens', 'verify', ...asked)
    context.diagnostic(stdout)
    assert.match(stdout, /0\.00 % off/)
    assert.equal(code, 0)
  })
}
